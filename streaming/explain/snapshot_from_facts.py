"""What one group's facts amount to: the newest of each queue, member, broker list and alert. Pure."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from schemas.facts import (
    AlertFact,
    AlertState,
    EvaluationFailedFact,
    EventsLostFact,
    Fact,
    GroupFact,
    Kind,
    MemberFact,
    MembershipFact,
    Payload,
    QueueFact,
    RebalanceFact,
)
from schemas.reasons import KINDS as REASON_KINDS
from streaming.core.alerts.phases import AlertReason
from streaming.explain.changes import LATELY_MS, changes_before
from streaming.explain.reasons import is_open, why_no_alert, why_of
from streaming.explain.snapshot import (
    AlertStep,
    BrokerList,
    ExplainedAlert,
    ExplainedGroup,
    ExplainedQueue,
    MonitorStatus,
    UnalertedQueues,
)
from streaming.notices.evidence_english import english_evidence
from streaming.notices.reasons_english import reason_in_short
from streaming.wording.lists import grouped
from streaming.wording.times import moment

KINDS: tuple[type[Payload], ...] = (
    QueueFact,
    AlertFact,
    MembershipFact,
    MemberFact,
    RebalanceFact,
    GroupFact,
    EvaluationFailedFact,
    EventsLostFact,
)
OWNED_BY_NOBODY = (Kind.ORPHANED, Kind.NO_MEMBERS)  # of these it is proven

_QueueKey: TypeAlias = tuple[str, str, int]


class _Newest:
    """The newest fact of each queue, client, broker's list and alert."""

    def __init__(self) -> None:
        self.queues: dict[_QueueKey, tuple[int, QueueFact]] = {}
        self.members: dict[str, MemberFact] = {}
        self.entries: dict[tuple[str, str], int] = {}
        self.alerts: dict[str, list[tuple[Fact, AlertFact]]] = {}
        self.group: tuple[int, GroupFact] | None = None

    def take(self, fact: Fact) -> None:
        payload = fact.payload
        if isinstance(payload, QueueFact):
            self.queues[fact.topic or "", payload.broker_name, payload.queue_id] = (fact.ts, payload)
        elif isinstance(payload, MemberFact):
            self.members[payload.client_id] = payload
        elif isinstance(payload, MembershipFact):
            self.entries[payload.broker_name, payload.client_id] = payload.entries
        elif isinstance(payload, GroupFact):
            self.group = (self.group[0] if self.group and _is_alike(self.group[1], payload) else fact.ts, payload)
        elif isinstance(payload, AlertFact):
            if payload.reason == AlertReason.FOUND:
                self.alerts[payload.fingerprint] = []
            self.alerts.setdefault(payload.fingerprint, []).append((fact, payload))

    def add_lists_of_members(self) -> None:
        """Adds entries of lists whose own facts were deleted, from the facts of members."""
        for member in self.members.values():
            for broker_name in member.brokers if member.present else ():
                self.entries.setdefault((broker_name, member.client_id), member.instances)


def _is_alike(one: GroupFact, other: GroupFact) -> bool:
    """Whether the later one only repeats the earlier one, as every hour."""
    return (one.status, one.members, one.counts, one.brokers_covered) == (
        other.status,
        other.members,
        other.counts,
        other.brokers_covered,
    )


def snapshot_of(facts: Sequence[Fact], at: int | None = None, monitor: MonitorStatus | None = None) -> ExplainedGroup:
    """``facts``: of one group, at least one, none after ``at``. ``at`` None: the newest time that was seen."""
    newest = _Newest()
    for fact in facts:
        newest.take(fact)
    newest.add_lists_of_members()
    newest_ts = max(fact.ts for fact in facts)
    now = max(newest_ts, monitor.seen_ts if monitor else 0) if at is None else at
    status = newest.group[1] if newest.group else None
    queues = _queues(newest)
    alerts = tuple(_alert(life) for life in newest.alerts.values() if _is_of_interest(life, now))
    return ExplainedGroup(
        cluster=facts[0].cluster,
        group=facts[0].group,
        ts=now,
        newest_ts=newest_ts,
        monitor=monitor,
        status=status.status if status else None,
        status_ts=newest.group[0] if newest.group else None,
        reason=_reason(status) if status else None,
        reason_kind=_kind(status.reason) if status else None,
        reason_details=status.reason_details if status else None,
        counts=status.counts if status else None,
        retry_counts=status.retry_counts if status else None,
        brokers_covered=status.brokers_covered if status else None,
        brokers_known=status.brokers_known if status else None,
        members_reporting=status.members_reporting if status else None,
        members=tuple(sorted((m for m in newest.members.values() if m.present), key=lambda m: m.client_id)),
        views=_views(newest),
        queues=queues,
        alerts=tuple(sorted(alerts, key=lambda a: (not is_open(a.state), a.transitions[0].ts))),
        unalerted=_unalerted(queues, alerts),
        changes=changes_before(facts, now),
    )


def _reason(status: GroupFact) -> str | None:
    if status.refused_since is not None and _kind(status.reason) is None:  # a fact of evenkeel 0.1
        return f"its events are refused: {status.reason}"
    return reason_in_short(status.reason, status.reason_details, moment)


def _kind(reason: str | None) -> str | None:
    return reason if reason in REASON_KINDS else None


def _queues(newest: _Newest) -> tuple[ExplainedQueue, ...]:
    return tuple(
        ExplainedQueue(
            topic=topic,
            broker_name=broker_name,
            queue_id=queue_id,
            finding=queue.finding,
            cause=queue.cause,
            reason=reason_in_short(queue.reason, queue.reason_details, moment),
            reason_kind=_kind(queue.reason),
            reason_details=queue.reason_details,
            owners=queue.owners if queue.owners or queue.finding in OWNED_BY_NOBODY else None,
            expected=queue.expected,
            since_ts=queue.since_ts,
            told_ts=told_ts,
        )
        for (topic, broker_name, queue_id), (told_ts, queue) in sorted(newest.queues.items(), key=lambda item: item[0])
        if queue.present
    )


def _views(newest: _Newest) -> tuple[BrokerList, ...]:
    brokers: dict[str, list[str]] = {}
    for (broker_name, client_id), entries in sorted(newest.entries.items()):
        brokers.setdefault(broker_name, []).extend([client_id] * entries)
    return tuple(BrokerList(broker_name, tuple(clients)) for broker_name, clients in brokers.items())


def _is_of_interest(life: list[tuple[Fact, AlertFact]], now: int) -> bool:
    fact, alert = life[-1]
    return alert.state != AlertState.RESOLVED or fact.ts >= now - LATELY_MS


def _alert(life: list[tuple[Fact, AlertFact]]) -> ExplainedAlert:
    fact, alert = life[-1]
    return ExplainedAlert(
        alert.fingerprint,
        fact.topic,
        alert.kind,
        alert.state,
        alert.severity,
        alert.cause,
        english_evidence(alert, moment),
        alert.observed,
        alert.stale,
        tuple((queue.broker_name, queue.queue_id) for queue in alert.queues),
        tuple(
            AlertStep(f.ts, t.state, t.reason, why_of(t.reason), t.severity, t.cause, len(t.queues), t.stale)
            for f, t in life
            if t.reason != AlertReason.WAITING_CHANGED
        ),
        fact.ts if alert.seen_ts is None else alert.seen_ts,
        alert.waiting,
        None if alert.waiting is None else alert.read_ts or fact.ts,
        alert.oldest_ts,
        alert.since_ts or alert.active_ts,
        alert.waits_for,
        alert.waits_until_ts,
        alert.deploy_since_ts,
        alert.right_since_ts,
    )


def _unalerted(queues: Iterable[ExplainedQueue], alerts: Iterable[ExplainedAlert]) -> tuple[UnalertedQueues, ...]:
    alerted = {(alert.topic, *queue) for alert in alerts if is_open(alert.state) for queue in alert.queues}
    unalerted = [q for q in queues if q.finding != Kind.MATCH and (q.topic, *q.name) not in alerted]
    alike = grouped(unalerted, lambda q: (q.topic, q.finding, q.cause, q.reason))
    return tuple(
        UnalertedQueues(
            topic,
            finding,
            cause,
            reason,
            why_no_alert(topic, finding, reason),
            tuple(q.name for q in those),
            max(q.told_ts for q in those),
            those[0].reason_kind,
            those[0].reason_details,
        )
        for (topic, finding, cause, reason), those in sorted(alike.items(), key=lambda i: i[0][1] == Kind.EXCLUDED)
    )
