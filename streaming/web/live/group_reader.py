"""Reads one group as it is now, from the tables and the facts after them, and the pages sent about its alerts."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from deltalake.exceptions import DeltaError

from schemas.facts import AlertFact, Fact, GroupFact, MemberFact, MembershipFact, Payload, QueueFact, RebalanceFact
from schemas.tables import FACTS, MEMBERSHIP_CHANGES, NOTIFICATIONS, REBALANCES
from streaming.errors import SourceError
from streaming.explain.read_facts import KEPT_LONGER, read_expired, read_group
from streaming.newest_facts import GroupName
from streaming.projections.progress import Progress, read_progress
from streaming.tables.facts_log import FactsLog
from streaming.tables.query import Selection, damage_said, is_of_day_from, millis, text
from streaming.tables.version import require_known_tables
from streaming.web.views.known import Known

KINDS: tuple[type[Payload], ...] = (AlertFact, GroupFact, MemberFact, MembershipFact, QueueFact, RebalanceFact)
MOST_COMMITS = 200  # with more commits than this, reading the table is quicker than reading each commit's files
MOST_NOTIFICATIONS = 50


def read_now(tables: str, name: GroupName, known: Known, now: int, hours: int) -> list[Fact]:
    """The group's newest facts and those of the last hours, at least one. Raises SourceError if there is none,
    and CheckpointError for tables of a newer evenkeel.

    A batch is written to the tables one after the other, and half of it may be missing if the process ends. So all
    facts newer than the last whole batch are read from the facts table, after the other tables: together they are as of
    one commit.
    """
    require_known_tables(tables)
    since = min([now - hours * 3_600_000, *_beginnings(name, known)])
    progress = read_progress(tables)
    facts = read_expired(tables, name[1], name[0], None, since, (*KEPT_LONGER, MEMBERSHIP_CHANGES, REBALANCES))
    newer = _facts_after(tables, progress, name)
    if newer is None and FactsLog(f"{tables}/{FACTS.name}").exists():
        return read_group(tables, name[1], name[0], None)
    have = {(fact.seq, fact.ts) for fact in facts}  # the tables may contain some of the newer ones
    facts += [one for one in newer or [] if (one.seq, one.ts) not in have]
    if not facts:
        raise SourceError(f"no group {name[1]} of cluster {name[0]} is known")
    return sorted(facts, key=lambda fact: fact.seq)


def _facts_after(tables: str, progress: Progress | None, name: GroupName) -> list[Fact] | None:
    """The facts committed after ``progress``. None if the commits do not show them, or are too many."""
    if progress is None or progress.done.initial:
        return None
    log, begin = FactsLog(f"{tables}/{FACTS.name}"), progress.done.version
    try:
        if str(log.table().metadata().id) != progress.done.table:
            return None
        commits = list(islice(log.commits(begin, KINDS, *name), MOST_COMMITS))
        is_whole = len(commits) < MOST_COMMITS and log.table().version() < begin + len(commits)
    except (DeltaError, OSError):
        return None  # compacted and deleted meanwhile
    return [fact for commit in commits for fact in commit] if is_whole else None


def read_notifications(tables: str, fingerprints: Sequence[str], since: int) -> list[dict[str, Any]]:
    """The pages sent about these alerts, the newest first: rows of ``notifications``, with ``ts`` in milliseconds."""
    if not fingerprints:
        return []
    any_of = " OR ".join(f'array_has("fingerprints", {text(one)})' for one in fingerprints)
    columns = ["ts", "sink", "outcome", "detail", "title"]
    path = f"{tables}/{NOTIFICATIONS.name}"
    with damage_said(path):
        rows = Selection(path)
    then = f"ORDER BY ts DESC LIMIT {MOST_NOTIFICATIONS}"
    found = rows.rows(columns, f"{is_of_day_from(since)} AND ({any_of})", then).to_pylist()
    return [row | {"ts": millis(row["ts"])} for row in found]


def _beginnings(name: GroupName, known: Known) -> Iterable[int]:
    """The times from which rows are needed: of the newest status, and of open alerts since they were found."""
    group = known.groups.get(name)
    if group is not None:
        yield group.ts
    yield from (alert.fact.active_ts for alert in known.open_alerts(name))
