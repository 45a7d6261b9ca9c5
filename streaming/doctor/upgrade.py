"""What the next start takes over: the states of the notifier and of the collectors, the facts, a batch that was begun.

The area of the tables says which tables and which checkpoint there are, and of which version. Nothing is written.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from schemas.tables import FACTS
from streaming.collector.probing.memory import MemoryFile
from streaming.config.config_errors import without_userinfo
from streaming.config.sections import Config
from streaming.doctor.checks import Check, Processes, fine, unknown, wrong
from streaming.errors import CheckpointError, MonitorError, SetupError
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.state_files import damaged_files, read_open_alerts, require_known_form
from streaming.spark.checkpoint import existing
from streaming.tables.damaged_commits import require_whole_commits
from streaming.tables.storage import TextFiles, away_said, local_path
from streaming.wording.numbers import counted

AREA = "upgrade"
RESEED = "evenkeel reseed"


def checks(config: Config, processes: Processes) -> Iterator[Check]:
    if "run" in processes:
        yield from _checkpoint(config)
        yield from _facts(config.tables.path)
    if processes & {"run", "notify"}:
        yield _notifier(Path(config.notify.state))
    if "collect" in processes:
        yield from (_collector(config, cluster) for cluster in config.collector.clusters)


def _checkpoint(config: Config) -> Iterator[Check]:
    """The files that Spark needs, and the settings of a batch that was begun: it ends under these."""
    what, uri = "batch", without_userinfo(config.job.checkpoint)
    try:
        with away_said(uri):
            checkpoint = existing(TextFiles(config.job.checkpoint))
            if checkpoint is None:
                return
            checkpoint.require_whole()
            pending = checkpoint.pending()
            if pending is None:
                yield fine(AREA, what, "none was begun and not ended", uri)
            else:
                checkpoint.settings_of(pending)
                yield fine(AREA, what, f"{pending} was begun: it ends first, under the settings that began it", uri)
    except CheckpointError as error:
        yield wrong(AREA, what, str(error), RESEED, uri)
    except MonitorError as error:
        yield unknown(AREA, what, str(error), where=uri)


def _facts(tables: str) -> Iterator[Check]:
    """On a disk alone: an object store writes a commit whole or not at all."""
    table = f"{tables}/{FACTS.name}"
    folder = local_path(table)
    if folder is None or not folder.is_dir():
        return
    try:
        require_whole_commits(table)
        yield fine(AREA, "facts", "none of the newest commits is damaged", table)
    except CheckpointError as error:
        yield wrong(AREA, "facts", str(error), RESEED, table)
    except (MonitorError, OSError) as error:
        yield unknown(AREA, "facts", str(error), where=table)


def _notifier(state: Path) -> Check:
    what, where = "notifier", str(state)
    if not state.is_dir():
        return unknown(AREA, what, "there is no state yet: what fires is sent", where=where)
    if not os.access(state, os.R_OK | os.X_OK):
        return unknown(AREA, what, "this user may not look into it", where=where)
    try:
        require_known_form(state)
    except SetupError as error:
        return wrong(AREA, what, str(error), "start the newer evenkeel again", where)
    if damaged := damaged_files(state):
        found = f"{', '.join(map(str, damaged))}: cannot be read; pages would be sent again"
        return wrong(AREA, what, found, "put back a copy of notify.state, or accept that", where)
    firing, silences = len(read_open_alerts(state).alerts), len(SilenceFiles(state).all())
    found = f"{counted(firing, 'firing alert')} and {counted(silences, 'silence')}, which go on"
    return fine(AREA, what, found, where)


def _collector(config: Config, cluster: str) -> Check:
    memory = MemoryFile(Path(config.collector.state), cluster).load()
    if memory is None:
        return unknown(AREA, "collector", "nothing is remembered here: all groups are looked at", where=cluster)
    return fine(AREA, "collector", f"it remembers {counted(len(memory.groups), 'group')}", cluster)
