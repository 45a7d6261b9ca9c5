"""All groups, the worst first: filtered, sorted, one page at a time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from schemas.facts import GroupFact, Severity
from streaming.core.finding_kinds import Meaning, Scope, row_of
from streaming.core.group_status import REPEAT_STATUS_MS
from streaming.core.waiting import REPEAT_WAITING_MS
from streaming.explain.snapshot import is_unseen
from streaming.explain.snapshot_from_facts import waiting_of_group
from streaming.newest_facts import GroupName, KnownGroup
from streaming.notices.affected import QueueKey, queue_keys
from streaming.notices.notice import OpenAlert
from streaming.web.views.alerts import in_order, level_of
from streaming.web.views.known import Known, of_groups

ROWS_A_PAGE = 50
STATES = ("firing", "findings", "unknown", "settling", "empty", "excluded", "healthy")
SORTS = ("worst", "name", "since", "lag", "members")
LONGEST_SEARCH = 255
# Waiting messages are reported at least this often, as long as offsets are read: at least once a minute.
ALERTS_LAG_IS_OLD_MS = REPEAT_WAITING_MS + 120_000
GROUPS_LAG_IS_OLD_MS = REPEAT_STATUS_MS + 120_000


class Wanted(NamedTuple):
    """The query for groups. ``state`` and ``cluster``: empty for all; ``page`` counts from 1."""

    search: str = ""
    cluster: str = ""
    state: str = ""
    finding: str = ""
    sort: str = "worst"
    page: int = 1


class Waiting(Struct, frozen=True, kw_only=True):
    """Messages that are not consumed, by offsets of which the oldest were read at ``read_ts``.

    The oldest of these messages was stored after ``oldest_ts``. ``is_old``: the offsets are too old to describe the
    present.
    """

    messages: int
    read_ts: int
    oldest_ts: int | None
    is_old: bool


class OverviewRow(NamedTuple):
    """A group in the overview. ``alerts``: the open ones, the worst first; ``level``: of the first that fires.

    ``lag``: the messages that wait; None: not known. ``is_old``: the cluster has not been seen for long.
    """

    known: KnownGroup
    state: str
    severity: str
    level: str
    alerts: tuple[OpenAlert, ...]
    findings: tuple[tuple[str, int], ...]
    since_ts: int
    since_is_lower_bound: bool
    lag: Waiting | None
    is_old: bool


class Cluster(Struct, frozen=True, kw_only=True):
    """A cluster. ``seen_ts``: until when evenkeel has seen it; ``is_blind``: that is too long ago to judge it now.

    ``status``: what the job reports of itself: ok, idle, late, data_lost or failed.
    """

    name: str
    groups: int
    seen_ts: int | None
    is_blind: bool
    status: str | None


class Overview(NamedTuple):
    """A page. ``found``: how many groups match; ``states``: number of groups in each state, without the filter."""

    rows: tuple[OverviewRow, ...]
    found: int
    pages: int
    wanted: Wanted
    states: dict[str, int]
    clusters: tuple[Cluster, ...]
    total: int


class RankedGroups:
    """The groups of one moment, ranked from the worst; computed once and used by every request."""

    def __init__(self, known: Known, now: int) -> None:
        blind = {one.name for one in clusters_in(known, now) if one.is_blind}
        alerts = of_groups(known)
        rows = [_row(group, alerts.get(name, []), group.cluster in blind, now) for name, group in known.groups.items()]
        rows += [_unknown_row(name, those, now) for name, those in alerts.items() if name not in known.groups]
        self._rows = sorted(rows, key=_rank)
        self._states = Counter(row.state for row in self._rows)
        self._known = known

    def overview(self, wanted: Wanted, now: int) -> Overview:
        """The page of the query; after the last page, the last page."""
        rows = [row for row in self._rows if _is_wanted(row, wanted)]
        if wanted.sort != "worst":
            rows.sort(key=_KEYS[wanted.sort])
        pages = max(1, -(-len(rows) // ROWS_A_PAGE))
        page = min(max(wanted.page, 1), pages)
        shown = tuple(rows[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE])
        states = {state: self._states[state] for state in STATES}
        clusters = clusters_in(self._known, now)
        return Overview(shown, len(rows), pages, wanted._replace(page=page), states, clusters, len(self._rows))


def clusters_in(known: Known, now: int) -> tuple[Cluster, ...]:
    sizes = Counter(cluster for cluster, _ in known.groups)
    names = sorted({*sizes, *known.health} - {""})
    return tuple(
        Cluster(
            name=name,
            groups=sizes[name],
            seen_ts=known.seen_ts(name),
            is_blind=is_unseen(known.seen_ts(name), now),
            status=known.health[name].status if name in known.health else None,
        )
        for name in names
    )


def findings_of(counts: dict[str, int], retry_counts: dict[str, int] | None) -> tuple[tuple[str, int], ...]:
    """Findings that are wrong or not known, the worst first, without those that are right or that no alert counts."""
    left = {kind: number - (retry_counts or {}).get(kind, 0) for kind, number in counts.items()}
    found = ((kind, number) for kind, number in left.items() if number > 0 and _weight(kind) < 9)
    return tuple(sorted(found, key=lambda one: _weight(one[0])))


def _weight(kind: str) -> int:
    """The rank of a kind: small for the worst; 9 for a kind that needs no attention."""
    row = row_of(kind)
    if row is None:
        return 5
    if row.meaning is Meaning.RIGHT and row.scope is Scope.QUEUE:
        return 9
    order = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 4, Severity.NONE: 3}
    return order[row.severity]


def _row(group: KnownGroup, alerts: Iterable[OpenAlert], is_old: bool, now: int) -> OverviewRow:
    ranked = tuple(in_order(alerts))
    firing = [alert for alert in ranked if alert.is_firing]
    begun = [alert.since_ts for alert in firing or ranked]
    return OverviewRow(
        known=group,
        state="firing" if firing else state_shown(group.status.status),
        severity=firing[0].fact.severity if firing else "",
        level=level_of(firing[0]) if firing else "",
        alerts=ranked,
        findings=findings_of(group.status.counts, group.status.retry_counts),
        since_ts=min(begun, default=group.since_ts),
        since_is_lower_bound=group.since_is_lower_bound and not ranked,
        lag=lag_of(group.status, ranked, now),
        is_old=is_old,
    )


def lag_of(status: GroupFact | None, alerts: Sequence[OpenAlert], now: int) -> Waiting | None:
    """The messages that wait for the group; None: not known."""
    waiting, by_alerts = waiting_of_group(status, alerts)
    if waiting is None:
        return None
    is_old = now - waiting.read_ts > (ALERTS_LAG_IS_OLD_MS if by_alerts else GROUPS_LAG_IS_OLD_MS)
    return Waiting(messages=waiting.messages, read_ts=waiting.read_ts, oldest_ts=waiting.oldest_ts, is_old=is_old)


def _unknown_row(name: GroupName, alerts: Sequence[OpenAlert], now: int) -> OverviewRow:
    """A group with an open alert but without a known status."""
    nothing = GroupFact(
        status="unknown", members=0, queues=0, counts={}, brokers_covered=0, brokers_known=0, members_reporting=0
    )
    newest = max(alert.ts for alert in alerts)
    return _row(KnownGroup(*name, -1, newest, newest, True, nothing), alerts, False, now)


def state_shown(status: str | None) -> str:
    return status if status in STATES else "unknown"


def _most_waiting(row: OverviewRow) -> tuple[bool, int]:
    """The sort key: current numbers first, groups without a known number last."""
    if row.lag is None:
        return True, 1
    return row.lag.is_old or row.is_old, -row.lag.messages


def _rank(row: OverviewRow) -> tuple[object, ...]:
    severity = 0 if row.level == Severity.CRITICAL else 1
    queues = len(set[QueueKey]().union(*map(queue_keys, row.alerts)))
    wrong = row.findings[0] if row.findings else ("", 0)
    return STATES.index(row.state), severity, not row.alerts, -queues, _weight(wrong[0]), -wrong[1], row.known.name


def _is_wanted(row: OverviewRow, wanted: Wanted) -> bool:
    group = row.known
    return (
        (not wanted.cluster or group.cluster == wanted.cluster)
        and (not wanted.state or row.state == wanted.state)
        and (not wanted.search or wanted.search.casefold() in f"{group.cluster}/{group.group}".casefold())
        and (not wanted.finding or wanted.finding in group.status.counts)
    )


_KEYS = {
    "name": lambda row: (row.known.group.casefold(), row.known.cluster),
    "since": lambda row: -row.since_ts,
    "lag": _most_waiting,
    "members": lambda row: -row.known.status.members,
}
