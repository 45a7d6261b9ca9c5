"""One group out of the tables: as it is now from the tables of what holds, at an earlier time from the facts."""

from collections.abc import Iterable, Sequence

from schemas.facts import Fact, MembershipFact, RebalanceFact
from schemas.history_tables import MEMBERSHIP_CHANGES, NOTIFICATIONS, REBALANCES
from streaming.errors import SourceError
from streaming.explain.expired_facts import SOURCES, Source, read_expired
from streaming.explain.read_facts import read_group, read_monitor
from streaming.explain.snapshot import MonitorStatus
from streaming.tables.query import Selection, damage_said, is_of_day_from, millis, text
from streaming.web.views.known import GroupName, Known, is_open
from streaming.web.views.notification import Notification

HISTORY = (
    Source(MEMBERSHIP_CHANGES, MembershipFact, {}),
    Source(
        REBALANCES,
        RebalanceFact,
        {"joined": "members_joined", "left": "members_left", "from_ts": "from_time", "to_ts": "to_time"},
    ),
)
MOST_NOTIFICATIONS = 50


def read_now(tables: str, name: GroupName, known: Known, now: int, hours: int) -> list[Fact]:
    """The group's newest facts and those of the last hours, at least one. Raises SourceError where there is none."""
    since = min([now - hours * 3_600_000, *_beginnings(name, known)])
    facts = read_expired(tables, name[1], name[0], None, since, (*SOURCES, *HISTORY))
    facts = _with_newest_status(facts, name, known)
    if not facts:
        raise SourceError(f"no group {name[1]} of cluster {name[0]} is known")
    return facts


def read_then(tables: str, name: GroupName, at: int) -> list[Fact]:
    """The group's facts until a time, at least one. Raises SourceError."""
    return read_group(tables, name[1], name[0], at)


def monitor_now(cluster: str, known: Known) -> MonitorStatus | None:
    health = known.health.get(cluster)
    return None if health is None else MonitorStatus(health.ts, health.fact.status, health.seen_ts or health.ts)


def monitor_then(tables: str, cluster: str, at: int) -> MonitorStatus | None:
    return read_monitor(tables, cluster, at)


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
    for alert in known.alerts.values():
        if (alert.cluster, alert.group) == name and is_open(alert):
            yield alert.fact.active_ts


def _with_newest_status(facts: list[Fact], name: GroupName, known: Known) -> list[Fact]:
    """Adds what the facts have told and the tables do not have yet: the status and alerts."""
    group = known.groups.get(name)
    newer = [] if group is None else [Fact(group.seq, *name, None, group.ts, group.status)]
    newer += [
        Fact(one.seq, *name, one.topic, one.ts, one.fact)
        for one in known.alerts.values()
        if (one.cluster, one.group) == name and is_open(one)
    ]
    have = {fact.seq for fact in facts}
    return sorted([*facts, *(fact for fact in newer if fact.seq not in have)], key=lambda fact: fact.seq)
