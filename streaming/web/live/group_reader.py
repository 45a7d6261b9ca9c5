"""One group: as it is now from the tables of what holds and the facts after them, at an earlier time from the facts."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from schemas.facts import Fact
from schemas.tables import FACTS, MEMBERSHIP_CHANGES, NOTIFICATIONS, REBALANCES
from streaming.errors import SourceError
from streaming.explain.expired_facts import KEPT_LONGER, read_expired
from streaming.explain.read_facts import read_group
from streaming.newest_facts import GroupName
from streaming.projections.progress import read_progress
from streaming.tables.facts_log import FactsLog
from streaming.tables.query import Selection, damage_said, is_of_day_from, millis, text
from streaming.web.live.new_facts import facts_after
from streaming.web.views.known import Known

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
    newer = facts_after(tables, progress, name)
    if newer is None and FactsLog(f"{tables}/{FACTS.name}").exists():
        return read_group(tables, name[1], name[0], None)
    facts = _together(facts, newer or [])
    if not facts:
        raise SourceError(f"no group {name[1]} of cluster {name[0]} is known")
    return facts


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
