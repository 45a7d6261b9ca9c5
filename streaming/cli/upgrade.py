"""Say what the next start of this version does with what an older one left: checkpoint, tables, states of the notifier
and the collectors, configuration, events. Nothing is written: the upgrade itself is the next start (docs/upgrading.md).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from schemas.table_definition import Table
from schemas.tables import FACTS, NOTIFICATIONS, PROJECTIONS
from streaming import __version__
from streaming.cli import DOCS
from streaming.cli.configuration import configured_with_alerts
from streaming.cli.exit_status import DONE, NOT_RIGHT
from streaming.collector.probing.memory import MemoryFile
from streaming.config.config_errors import without_userinfo
from streaming.config.sections import Config
from streaming.core.state.packing import STATE_VERSION, require_version
from streaming.errors import CheckpointError, SetupError, StateVersionError
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.state_files import damaged_files, read_open_alerts, require_known_form
from streaming.wording.lists import first_of, joined
from streaming.wording.numbers import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

LABEL = 14


class Found(NamedTuple):
    """What one thing is, and what becomes of it. ``is_refused``: the next start ends with it, or loses something."""

    what: str
    says: str
    is_refused: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", required=True, help="only say it, and end with 1 if something is refused"
    )


def run(arguments: argparse.Namespace) -> int:
    """0 if the next start continues with everything; 1 if something is refused, or cannot be read. Raises ConfigError
    for a configuration that is refused, and AwayError where a storage does not answer.
    """
    config, _ = configured_with_alerts(arguments, writes=())
    print(f"evenkeel {__version__} finds:")
    refused = 0
    for found in _all_found(config):
        refused += found.is_refused
        first, *others = found.says.splitlines()
        print(f"  {found.what:{LABEL}} {'NOT RIGHT: ' if found.is_refused else ''}{first}")
        for line in others:
            print(f"  {'':{LABEL}} {line}")
    if refused:
        print(f"{refused} of these must be put right first.")
        return NOT_RIGHT
    print(f"The next start continues with all of this. The steps, and the way back: {DOCS / 'upgrading.md'}")
    return DONE


def _all_found(config: Config) -> Iterator[Found]:
    yield Found("configuration", "every key is known, and so are the alert rules")
    yield from _running(config)
    yield _checkpoint(config)
    yield _tables(config.tables.path)
    yield _notifier(Path(config.notify.state))
    yield from _collectors(config)
    yield Found("events", "not looked at: those of every release since 0.1.0 are read")


def _running(config: Config) -> Iterator[Found]:
    """The job that writes now, as far as this machine can see it."""
    from streaming.file_lock import CannotLock, holder_of
    from streaming.lease_file import NAME
    from streaming.tables.storage import local_path

    tables = local_path(config.tables.path)
    try:
        job = None if tables is None else holder_of(tables / NAME)
    except (CannotLock, OSError):
        return
    if job is not None:
        yield Found("running", f"{job}: stop it before the new version starts")


def _checkpoint(config: Config) -> Found:
    from streaming.spark.checkpoint import checkpoint_in
    from streaming.spark.sources import name_of
    from streaming.tables.storage import TextFiles

    what, uri = "checkpoint", without_userinfo(config.job.checkpoint)
    table = _opened(config.tables.path, FACTS)

    def has_facts() -> bool:
        return table is not None and bool(table.file_uris())

    try:
        files = TextFiles(config.job.checkpoint)
        checkpoint = checkpoint_in(files, name_of(config.source), config.job.shards, table is not None, has_facts)
        if checkpoint is None:
            return Found(what, f"{uri}: none yet, the next start makes it")
        version = checkpoint.identity.state_version
        if version is not None:
            require_version(version)
        pending = checkpoint.pending()
        if pending is not None:
            checkpoint.settings_of(pending)
    except (CheckpointError, StateVersionError) as error:
        return Found(what, str(error), is_refused=True)
    if version is None:
        state = "the version of its state is not written in it: the next start looks into the state"
    elif version == STATE_VERSION:
        state = f"state of version {version:02}, which is read as it is"
    else:
        state = f"state of version {version:02}, which becomes {STATE_VERSION:02} group by group"
    begun = "" if pending is None else f"\nbatch {pending} was begun: it ends first, under the settings that began it"
    return Found(what, f"{uri}: {state}{begun}")


def _tables(tables: str) -> Found:
    from streaming.projections.progress import read_progress
    from streaming.tables.damaged_commits import require_whole_commits
    from streaming.tables.version import require_known_tables

    uri = without_userinfo(tables)
    found = {table: opened for table in (FACTS, *PROJECTIONS, NOTIFICATIONS) if (opened := _opened(tables, table))}
    if FACTS not in found:
        return Found("tables", f"{uri}: none yet, the next start makes them")
    try:
        require_known_tables(tables)
        require_whole_commits(f"{tables}/{FACTS.name}")
    except CheckpointError as error:
        return Found("tables", str(error), is_refused=True)
    renamed = [
        f"{table.name}.{old} is {new}" for table, opened in found.items() for old, new in _renamed(opened, table)
    ]
    added = {table.name: added for table, opened in found.items() if (added := _added(opened, table))}
    changed = added.keys() | {one.partition(".")[0] for one in renamed}
    if not changed:
        lines = [f"{uri}: all {len(found)} stay as they are"]
    else:
        lines = [f"{uri}: {len(changed)} of {len(found)} are brought up to date, and keep every row"]
    if renamed:
        lines.append(f"renamed, so change your queries: {', '.join(renamed)}")
    lines += [f"{name} gets {what}" for name, what in added.items()]
    if read_progress(tables) is None:
        lines.append("all but facts and notifications are made again from the facts; rows older than those stay")
    return Found("tables", "\n".join(lines))


def _opened(tables: str, table: Table) -> "DeltaTable | None":
    """The table; None where there is none yet. Raises AwayError."""
    from deltalake import DeltaTable

    from streaming.tables.storage import away_said, delta_uri

    path = delta_uri(f"{tables}/{table.name}")
    with away_said(path):
        return DeltaTable(path) if DeltaTable.is_deltatable(path) else None


def _renamed(opened: "DeltaTable", table: Table) -> Iterator[tuple[str, str]]:
    """The columns of an older release that have another name now: both names."""
    from streaming.tables.creation import renamed_columns

    now = {column.name for column in table.columns}
    for column in renamed_columns(_schema(opened), table):
        if column.older is not None and column.older not in now:
            yield column.older, column.name


def _added(opened: "DeltaTable", table: Table) -> str:
    """What is added to a table of an older release; empty: nothing."""
    from streaming.tables.creation import missing_columns

    known = _schema(opened)
    missing = [field.name for field in missing_columns(known, table)]
    new = {name for _, name in _renamed(opened, table)}
    columns = [name for name in missing if name not in known.names and name not in new]
    fields = [name for name in missing if name in known.names]
    return joined(first_of(columns), f"more fields in {first_of(fields)}" if fields else "", by="; ")


def _schema(opened: "DeltaTable") -> "pa.Schema":
    import pyarrow as pa

    return pa.schema(opened.schema().to_arrow())


def _notifier(state: Path) -> Found:
    try:
        require_known_form(state)
    except SetupError as error:
        return Found("notifier", str(error), is_refused=True)
    damaged = damaged_files(state)
    if damaged:
        names = ", ".join(map(str, damaged))
        return Found("notifier", f"{names}: cannot be read; pages would be sent again", is_refused=True)
    if not state.is_dir():
        return Found("notifier", f"{state}: none yet, what fires is sent")
    firing = len(read_open_alerts(state).alerts)
    silences = len(SilenceFiles(state).all())
    return Found(
        "notifier", f"{state}: {counted(firing, 'firing alert')} and {counted(silences, 'silence')}, which go on"
    )


def _collectors(config: Config) -> Iterator[Found]:
    for cluster in config.collector.clusters:
        memory = MemoryFile(Path(config.collector.state), cluster).load()
        if memory is None:
            says = f"{cluster}: nothing is remembered here; all its groups are looked at"
        else:
            says = f"{cluster}: it remembers {counted(len(memory.groups), 'group')}"
        yield Found("collector", says)
