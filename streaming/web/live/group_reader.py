"""One group as it is now, from the tables and the facts after them, and what was sent about its alerts."""

from collections.abc import Iterable, Sequence

from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.facts import AlertFact, Fact, GroupFact, MemberFact, MembershipFact, Payload, QueueFact, RebalanceFact
from schemas.tables import FACTS, MEMBERSHIP_CHANGES, NOTIFICATIONS, REBALANCES
from streaming.errors import SourceError
from streaming.explain.expired_facts import KEPT_LONGER, read_expired
from streaming.explain.read_facts import read_group
from streaming.newest_facts import GroupName
from streaming.projections.progress import Progress, read_progress
from streaming.tables.facts_log import FactsLog
from streaming.tables.query import Selection, damage_said, is_of_day_from, millis, text
from streaming.web.views.known import Known

KINDS: tuple[type[Payload], ...] = (AlertFact, GroupFact, MemberFact, MembershipFact, QueueFact, RebalanceFact)
MOST_COMMITS = 200  # of more than these, the table is quicker to read than the files of each
MOST_NOTIFICATIONS = 50


class Notification(Struct, frozen=True, kw_only=True):
    """What became of a page at one destination: a row of the table ``notifications``. ``ts`` in epoch milliseconds."""

    ts: int
    sink: str
    outcome: str
    detail: str | None
    status: str
    title: str
    key: str


def read_now(tables: str, name: GroupName, known: Known, now: int, hours: int) -> list[Fact]:
    """The group's newest facts and those of the last hours, at least one. Raises SourceError where there is none.

    The tables get a batch one after the other, and may keep half of it when their process ends. So all that is newer
    than the last whole batch is read from the facts, after the tables: together they are as of one commit.
    """
    since = min([now - hours * 3_600_000, *_beginnings(name, known)])
    progress = read_progress(tables)
    facts = read_expired(tables, name[1], name[0], None, since, (*KEPT_LONGER, MEMBERSHIP_CHANGES, REBALANCES))
    newer = _facts_after(tables, progress, name)
    if newer is None and FactsLog(f"{tables}/{FACTS.name}").exists():
        return read_group(tables, name[1], name[0], None)
    facts = _together(facts, newer or [])
    if not facts:
        raise SourceError(f"no group {name[1]} of cluster {name[0]} is known")
    return facts


def _facts_after(tables: str, progress: Progress | None, name: GroupName) -> list[Fact] | None:
    """What was committed after ``progress``. None where the commits cannot say it, or are too many."""
    if progress is None or progress.done.initial:
        return None
    log = FactsLog(f"{tables}/{FACTS.name}")
    found: list[Fact] = []
    try:
        if log.newest().id != progress.done.table:
            return None
        for version in range(progress.done.version, progress.done.version + MOST_COMMITS):
            files = log.new_files(version)
            if files is None:
                return found if log.newest().version < version else None
            for file in files:
                found += log.facts(file, KINDS, *name)
    except (DeltaError, OSError):
        return None  # compacted and deleted meanwhile
    return None


def read_notifications(tables: str, fingerprints: Sequence[str], since: int) -> list[Notification]:
    """Who was told of these alerts, the newest first."""
    if not fingerprints:
        return []
    any_of = " OR ".join(f'array_has("fingerprints", {text(one)})' for one in fingerprints)
    columns = ["ts", "sink", "outcome", "detail", "status", "title", "key"]
    path = f"{tables}/{NOTIFICATIONS.name}"
    with damage_said(path):
        rows = Selection(path)
    then = f"ORDER BY ts DESC LIMIT {MOST_NOTIFICATIONS}"
    found = rows.rows(columns, f"{is_of_day_from(since)} AND ({any_of})", then).to_pylist()
    return [Notification(**row | {"ts": millis(row["ts"])}) for row in found]


def _beginnings(name: GroupName, known: Known) -> Iterable[int]:
    """Days from which rows are needed: of the newest status, and of open alerts since they were found."""
    group = known.groups.get(name)
    if group is not None:
        yield group.ts
    yield from (alert.fact.active_ts for alert in known.open_alerts(name))


def _together(facts: list[Fact], newer: list[Fact]) -> list[Fact]:
    """In their order. The tables may have some of the newer ones already."""
    have = {(fact.seq, fact.ts) for fact in facts}
    return sorted([*facts, *(one for one in newer if (one.seq, one.ts) not in have)], key=lambda fact: fact.seq)
