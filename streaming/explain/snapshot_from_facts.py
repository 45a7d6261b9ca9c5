"""Makes the snapshot of one group from its facts: the newest of each queue, member, broker list and alert. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from schemas.facts import (
    PAYLOADS,
    Fact,
    GroupFact,
    HealthFact,
    Kind,
    MemberFact,
    MembershipFact,
    QuarantineFact,
    QueueFact,
)
from streaming.core.alerts.phases import AlertReason
from streaming.core.waiting import MOST_QUEUES as MOST_FULLEST
from streaming.explain.changes import LATELY_MS, changes_before
from streaming.explain.reasons import why_no_alert, why_of
from streaming.explain.snapshot import (
    AlertStep,
    BrokerList,
    ExplainedAlert,
    ExplainedGroup,
    ExplainedQueue,
    MonitorStatus,
    UnalertedQueues,
)
from streaming.newest_facts import newest_facts, newest_group, newest_lives
from streaming.notices.affected import Waiting, read_ts, seen_ts, waiting_by_queue, waiting_in
from streaming.notices.english import ENGLISH
from streaming.notices.evidence_english import english_evidence, reason_in_short
from streaming.notices.notice import OpenAlert
from streaming.notices.page_parts import advice_on
from streaming.wording.lists import grouped
from streaming.wording.times import moment

QueueKey = tuple[str | None, str, int]  # topic, broker name, queue id
OF_STATUS = (
    *("reason_details", "counts", "retry_counts", "brokers_covered", "brokers_known", "members_reporting"),
    *("fifo", "in_flight", "in_flight_ts"),
)
KINDS = tuple(kind for kind in PAYLOADS if kind not in (QuarantineFact, HealthFact))  # those of a group


def snapshot_of(facts: Sequence[Fact], at: int | None = None, monitor: MonitorStatus | None = None) -> ExplainedGroup:
    """The snapshot. ``facts``: the group's, at least one, none after ``at``. ``at`` None: the newest time seen."""
    newest, lives, known = newest_facts(facts), newest_lives(facts).values(), newest_group(facts)
    newest_ts = max(fact.ts for fact in facts)
    now = max(newest_ts, monitor.seen_ts if monitor else 0) if at is None else at
    status = known.status if known else None
    open_alerts = [life[-1] for life in lives if life[-1].is_open]
    waiting, _ = waiting_of_group(status, open_alerts)
    queues = _queues(newest, status, open_alerts)
    members = [fact.payload for fact in newest if isinstance(fact.payload, MemberFact) and fact.payload.present]
    alerts = tuple(_alert(life) for life in lives if life[-1].is_open or life[-1].ts >= now - LATELY_MS)
    of_status: dict[str, Any] = {name: getattr(status, name, None) for name in OF_STATUS}
    return ExplainedGroup(
        cluster=facts[0].cluster,
        group=facts[0].group,
        ts=now,
        newest_ts=newest_ts,
        monitor=monitor,
        status=status.status if status else None,
        status_ts=known.counted_ts if known else None,
        reason=reason_in_short(status.reason, status.reason_details, moment) if status else None,
        reason_kind=status.reason if status else None,
        **of_status,
        polls=status.polls if status else (),
        waiting=waiting.messages if waiting else None,
        read_ts=waiting.read_ts if waiting else None,
        oldest_ts=(waiting.oldest_ts if waiting else None) or (status.oldest_ts if status else None),
        members=tuple(sorted(members, key=lambda member: member.client_id)),
        views=_views(newest, members),
        queues=queues,
        alerts=tuple(sorted(alerts, key=lambda a: (not a.is_open, a.transitions[0].ts))),
        unalerted=_unalerted(queues, alerts),
        changes=changes_before(facts, now),
    )


def _queues(
    newest: Iterable[Fact], status: GroupFact | None, open_alerts: Iterable[OpenAlert]
) -> tuple[ExplainedQueue, ...]:
    """The queues in the order of their names."""
    told = [(fact, fact.payload) for fact in newest if isinstance(fact.payload, QueueFact) and fact.payload.present]
    keys = [(fact.topic, queue.broker_name, queue.queue_id) for fact, queue in told]
    waiting = waiting_of_queues(keys, status, open_alerts)
    queues = (_queue(fact, queue, waiting.get(key)) for (fact, queue), key in zip(told, keys, strict=True))
    return tuple(sorted(queues, key=lambda queue: (queue.topic, *queue.name)))


def _queue(fact: Fact, queue: QueueFact, waiting: tuple[int, int] | None) -> ExplainedQueue:
    messages, messages_ts = waiting or (None, None)
    return ExplainedQueue(
        topic=fact.topic or "",
        broker_name=queue.broker_name,
        queue_id=queue.queue_id,
        finding=queue.finding,
        severity=queue.severity,
        cause=queue.cause,
        reason=reason_in_short(queue.reason, queue.reason_details, moment),
        reason_kind=queue.reason,
        reason_details=queue.reason_details,
        owners=queue.owners,
        expected=queue.expected,
        since_ts=queue.since_ts,
        told_ts=fact.ts,
        waiting=messages,
        read_ts=messages_ts,
    )


def waiting_of_group(status: GroupFact | None, open_alerts: Sequence[OpenAlert]) -> tuple[Waiting | None, bool]:
    """The waiting messages, None if not known, and True if the number is from open alerts.

    The alerts' number is taken if it was read later than the group's status, and is not smaller.
    """
    of_alerts = waiting_in(open_alerts)
    if status is None or status.waiting is None:
        return of_alerts, True
    of_group = Waiting(status.waiting, status.read_ts or 0, None)
    if of_alerts is not None and of_alerts.read_ts > of_group.read_ts and of_alerts.messages >= of_group.messages:
        return of_alerts, True
    return of_group, False


def waiting_of_queues(
    keys: Iterable[QueueKey], status: GroupFact | None, open_alerts: Iterable[OpenAlert]
) -> dict[QueueKey, tuple[int, int]]:
    """The messages that wait in each queue for which it is known, and when that was read.

    The number of an open alert is newer than that of the group's status, which names the fullest queues only. If these
    are few, nothing waits in the others.
    """
    of_alerts = waiting_by_queue(open_alerts)
    if status is None or status.waiting is None or status.read_ts is None:
        return of_alerts
    fullest: dict[QueueKey, int] = {(one.topic, one.broker_name, one.queue_id): one.waiting for one in status.fullest}
    names_all = len(status.fullest) < MOST_FULLEST
    of_status = {key: (fullest.get(key, 0), status.read_ts) for key in keys if names_all or key in fullest}
    return of_status | of_alerts


def _views(newest: Iterable[Fact], members: Iterable[MemberFact]) -> tuple[BrokerList, ...]:
    """The brokers' lists. If the facts of a list were deleted, the facts of members show who is in it."""
    entries = {(name, member.client_id): member.instances for member in members for name in member.brokers}
    for fact in newest:
        if isinstance(fact.payload, MembershipFact):
            entries[fact.payload.broker_name, fact.payload.client_id] = fact.payload.entries
    brokers: dict[str, list[str]] = {}
    for (broker_name, client_id), number in sorted(entries.items()):
        brokers.setdefault(broker_name, []).extend([client_id] * number)
    return tuple(BrokerList(broker_name, tuple(clients)) for broker_name, clients in brokers.items())


def _alert(life: Sequence[OpenAlert]) -> ExplainedAlert:
    newest, alert = life[-1], life[-1].fact
    do, for_now = advice_on(alert.cause, alert.kind, ENGLISH) if newest.is_open else ("", "")
    return ExplainedAlert(
        alert.fingerprint,
        newest.topic,
        alert.kind,
        alert.state,
        alert.severity,
        alert.cause,
        english_evidence(alert, moment),
        alert.observed,
        alert.stale,
        tuple((queue.broker_name, queue.queue_id) for queue in alert.queues),
        steps_of(life),
        seen_ts(newest),
        alert.waiting,
        None if alert.waiting is None else read_ts(newest),
        alert.oldest_ts,
        newest.since_ts,
        alert.waits_for,
        alert.waits_until_ts,
        alert.deploy_since_ts,
        alert.right_since_ts,
        for_now,
        do,
    )


def steps_of(life: Iterable[OpenAlert]) -> tuple[AlertStep, ...]:
    """The steps in the life of an alert, oldest first. A change of the waiting messages is no step."""
    return tuple(
        AlertStep(one.ts, it.state, it.reason, why_of(it.reason), it.severity, it.cause, len(it.queues), it.stale)
        for one, it in ((one, one.fact) for one in life)
        if it.reason != AlertReason.WAITING_CHANGED
    )


def _unalerted(queues: Iterable[ExplainedQueue], alerts: Iterable[ExplainedAlert]) -> tuple[UnalertedQueues, ...]:
    alerted = {(alert.topic, *queue) for alert in alerts if alert.is_open for queue in alert.queues}
    unalerted = [q for q in queues if q.finding not in (Kind.MATCH, Kind.POLLED) and (q.topic, *q.name) not in alerted]
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
