"""The view of one group at a time: its status, alerts, map, members, queues and history."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from schemas.facts import BrokerPolls, Fact, MemberFact
from schemas.identity import is_proxy, is_retry_topic
from streaming.core.evidence.exclusions import is_proxy_client
from streaming.explain.snapshot import Doubt, ExplainedGroup, ExplainedQueue, MonitorStatus, UnalertedQueues, doubt_of
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.newest_facts import KnownGroup, newest_alerts, newest_group
from streaming.notices.language import Language
from streaming.notices.notice import Site
from streaming.web.views.alerts import AlertView, alert_view, in_order
from streaming.web.views.overview import Waiting, findings_of, lag_of, state_shown
from streaming.web.views.queue_map import QueueMap, is_by_pop, level_of, polled_places, queue_map
from streaming.web.views.timeline import Timeline, span_of, timeline
from streaming.wording.lists import grouped
from streaming.wording.numbers import ranges
from streaming.wording.times import clock

MOST_MEMBERS = 300
MOST_QUEUE_ROWS = 200
LEVELS = ("critical", "warning", "unknown", "settling", "info", "right")  # the worst first


class MemberRow(NamedTuple):
    """A member. ``queues``: how many it owns; None: it owns none, because no client of the group does.

    ``missing``: brokers that list other members, but not this one. ``listed_by``: where proxies list members, who lists
    this one; else empty.
    """

    member: MemberFact
    queues: int | None
    missing: tuple[str, ...]
    listed_by: str


class QueueRow(NamedTuple):
    """Queues of a topic that are alike, as ``first`` is.

    ``by_pop``: they have no owner, because clients poll for their messages. ``since_ts``: since when the first of them
    has been so. ``waiting``: messages in them, read at ``read_ts``; None:
    not known.
    """

    first: ExplainedQueue
    queues: str
    number: int
    level: str
    since_ts: int
    reason: str
    waiting: int | None
    read_ts: int
    by_pop: bool


class PollRow(NamedTuple):
    """The polls of the group at a broker for a topic. ``finding``: the worst of its queues there; empty: none is known.

    ``takers``: the clients that may take messages there; None: each member; empty: that is not known.
    """

    polls: BrokerPolls
    finding: str
    level: str
    takers: tuple[str, ...] | None


class UnalertedRow(NamedTuple):
    known: UnalertedQueues
    level: str
    queues: str
    reason: str


class GroupView(NamedTuple):
    """A group as a page shows it.

    ``doubt``: blind, silent or events_lost, if the view may be out of date; ``doubt_ts``: since when. ``alerts``: the
    open ones, grouped by cause. ``lag`` as in the overview.
    """

    group: ExplainedGroup
    state: str
    since_ts: int | None
    since_is_lower_bound: bool
    reason: str
    findings: tuple[tuple[str, int], ...]
    lag: Waiting | None
    doubt: str
    doubt_ts: int
    alerts: tuple[tuple[AlertView, ...], ...]
    recent: tuple[AlertView, ...]
    unalerted: tuple[UnalertedRow, ...]
    map: QueueMap
    polls: tuple[PollRow, ...]
    members: tuple[MemberRow, ...]
    members_left_out: int
    queues: tuple[QueueRow, ...]
    queues_left_out: int
    timeline: Timeline


class Asked(NamedTuple):
    """The query for a group. ``at`` None: now. ``now``: the time by which ages are counted.

    ``minutes``: the span of the timeline; 0: long enough to show how the open alerts began.
    """

    now: int
    at: int | None
    minutes: int
    whole_map: bool


def group_view(
    facts: Sequence[Fact],
    monitor: MonitorStatus | None,
    known: KnownGroup | None,
    asked: Asked,
    words: Language,
    site: Site,
) -> GroupView:
    """The view. ``facts``: the group's, in order, at least one. ``known``: the overview's data, if ``at`` is now."""
    group = snapshot_of(facts, asked.at, monitor)
    now = asked.now
    alerts = in_order(newest_alerts(facts))
    open_alerts = [alert for alert in alerts if alert.is_open]
    listed = {alert.fingerprint for alert in group.alerts}
    views = [alert_view(alert, words, now, site) for alert in alerts if alert.fact.fingerprint in listed]
    doubt, doubt_ts = _doubt(group, now)

    def reason_of(it: ExplainedGroup | ExplainedQueue | UnalertedQueues) -> str:
        """The reason why it is not judged: in the reader's language if the fact has it as data, else unchanged."""
        if it.reason_kind is None:
            return it.reason or ""
        return words.reason(it.reason_kind, it.reason_details, lambda ts: clock(ts, now, site.zone))

    newest = newest_group(facts)
    status = newest.status if newest is not None else None
    still = [view.known for view in views if view.ended_ts is None]
    begun = min((one.since_ts for one in [one for one in still if one.is_firing] or still), default=None)
    queues = _queue_rows(group, reason_of)
    minutes = asked.minutes or span_of((alert.since_ts for alert in open_alerts), now)
    return GroupView(
        group=group,
        state="firing" if any(view.known.is_firing for view in views) else state_shown(group.status),
        since_ts=begun if begun is not None else known.since_ts if known is not None else group.status_ts,
        since_is_lower_bound=begun is None and known is not None and known.since_is_lower_bound,
        reason=reason_of(group),
        findings=findings_of(group.counts or {}, group.retry_counts),
        lag=lag_of(status, open_alerts, now),
        doubt=doubt,
        doubt_ts=doubt_ts,
        alerts=_by_cause(view for view in views if view.ended_ts is None),
        recent=tuple(view for view in views if view.ended_ts is not None),
        unalerted=tuple(
            UnalertedRow(one, level_of(one.finding, one.topic), ranges(one.queues), reason_of(one))
            for one in group.unalerted
        ),
        map=queue_map(group, asked.whole_map),
        polls=_poll_rows(group),
        members=_member_rows(group)[:MOST_MEMBERS],
        members_left_out=max(0, len(group.members) - MOST_MEMBERS),
        queues=tuple(queues[:MOST_QUEUE_ROWS]),
        queues_left_out=sum(row.number for row in queues[MOST_QUEUE_ROWS:]),
        timeline=timeline(facts, now, minutes, _seen_ts(group)),
    )


def _by_cause(alerts: Iterable[AlertView]) -> tuple[tuple[AlertView, ...], ...]:
    """Alerts grouped by cause, so that each cause is explained once. An alert without a cause is alone."""
    return tuple(
        map(tuple, grouped(alerts, lambda alert: alert.known.fact.cause or alert.known.fact.fingerprint).values())
    )


def _doubt(group: ExplainedGroup, now: int) -> tuple[str, int]:
    doubt, monitor = doubt_of(group, now), group.monitor
    if doubt is None or monitor is None:
        return "", 0
    since = {Doubt.BLIND: _seen_ts(group), Doubt.SILENT: group.newest_ts, Doubt.EVENTS_LOST: monitor.ts}
    return doubt.value, since[doubt]


def _seen_ts(group: ExplainedGroup) -> int:
    return max(group.monitor.seen_ts if group.monitor is not None else 0, group.newest_ts)


def _member_rows(group: ExplainedGroup) -> tuple[MemberRow, ...]:
    owned, owns_none = group.owned, group.owns_none
    brokers = {view.broker_name for view in group.views if view.clients}
    is_by_proxy = any(map(is_proxy, group.listing))
    return tuple(
        MemberRow(
            member,
            None if owns_none else owned[member.client_id],
            tuple(sorted(brokers - set(member.brokers))),
            ", ".join(member.brokers) if is_by_proxy else "",
        )
        for member in group.members
    )


def _poll_rows(group: ExplainedGroup) -> tuple[PollRow, ...]:
    """Where clients are missed comes first."""
    queues = grouped(group.queues, lambda queue: (queue.topic, queue.broker_name))
    by_proxy = tuple(member.client_id for member in group.members if is_proxy_client(member.client_id))
    everybody = None if len(by_proxy) == len(group.members) else by_proxy
    rows = [_poll_row(one, queues.get((one.topic, one.broker_name), []), everybody) for one in group.polls]
    return tuple(sorted(rows, key=lambda row: (LEVELS.index(row.level), row.polls.topic, row.polls.broker_name)))


def _poll_row(polls: BrokerPolls, queues: Sequence[ExplainedQueue], by_proxy: tuple[str, ...] | None) -> PollRow:
    """Clients of proxies may all take messages. What others pop they report."""
    findings = [(level_of(queue.finding, queue.topic, queue.severity), queue.finding) for queue in queues]
    level, finding = min(findings, key=lambda one: LEVELS.index(one[0]), default=("unknown", ""))
    return PollRow(polls, finding, level, by_proxy if polls.poppers is None else polls.poppers + (by_proxy or ()))


def _queue_rows(group: ExplainedGroup, reason_of: Callable[[ExplainedQueue], str]) -> list[QueueRow]:
    """The queues, the worst first. Queues that are alike share a row."""
    polled = polled_places(group)
    alike = grouped(group.queues, lambda queue: (_what_is_alike(queue), is_by_pop(queue, polled))).values()
    rows = [_queue_row(those, reason_of(those[0]), is_by_pop(those[0], polled)) for those in alike]
    return sorted(rows, key=lambda row: (LEVELS.index(row.level), is_retry_topic(row.first.topic), row.first.topic))


def _what_is_alike(queue: ExplainedQueue) -> tuple[object, ...]:
    is_right = level_of(queue.finding, queue.topic) == "right"
    since = None if is_right else queue.since_ts
    return queue.topic, queue.finding, queue.severity, queue.cause, queue.owners, queue.expected, queue.reason, since


def _queue_row(queues: Sequence[ExplainedQueue], reason: str, by_pop: bool) -> QueueRow:
    first = queues[0]
    known = [queue.waiting for queue in queues if queue.waiting is not None]
    return QueueRow(
        first=first,
        queues=ranges(queue.name for queue in queues),
        number=len(queues),
        level=level_of(first.finding, first.topic, first.severity),
        since_ts=min(queue.since_ts for queue in queues),
        reason="" if first.is_reason_of_expected else reason,
        waiting=sum(known) if known else None,
        read_ts=min((queue.read_ts for queue in queues if queue.read_ts is not None), default=0),
        by_pop=by_pop,
    )
