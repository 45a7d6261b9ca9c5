"""Every queue of a topic as a row: the core's finding, the possible finding, and its rates."""

from statistics import fmean

from msgspec.structs import replace

from schemas.facts import Kind
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import NOT_JUDGED, UNDECIDED
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.findings.verdict import Verdict
from streaming.core.state.group_state import PERM_WRITE, HostedQueues
from streaming.core.state.offsets import unconsumed_ms
from streaming.core.state.queue_state import Queue as QueueInState
from streaming.inspect.observed_groups import Flow, OffsetHistory
from streaming.inspect.snapshot import InspectedQueue, Undecided
from streaming.notices.evidence_english import reason_in_short
from streaming.snapshots.values import QueueName
from streaming.wording.times import moment

HOT = 2.0  # times the mean of the topic's queues
STANDS_FROM_MS = 5_500  # consumers store their offsets every 5 s
BUSY_PER_S = 1.0  # with fewer messages, no queue is hot


def rows_of(findings: TopicFindings, offsets: OffsetHistory) -> list[InspectedQueue]:
    """The rows in the order of brokers and numbers, with queues that can be written and not read among them."""
    rows = {index: _judged(findings, index, verdict, offsets) for index, verdict in findings.verdicts.items()}
    for index in _only_writable(findings.evidence):
        rows.setdefault(index, _not_judged(findings.evidence, index, offsets))
    return _with_hot_ones(sorted(rows.values(), key=lambda row: row.name))


def may_be(topic: TopicEvidence, index: int, kind: Kind) -> Kind | None:
    """The finding that the newest reports suggest for a queue that cannot be judged yet."""
    owners = topic.owners(index)
    if kind not in UNDECIDED or topic.is_polled:
        return None
    if topic.broadcasts:
        return Kind.ORPHANED if kind is Kind.SETTLING and set(owners) < set(topic.members) else None
    if len(owners) > 1:
        return Kind.DUPLICATED
    if kind is Kind.UNKNOWN:
        return None
    if not topic.members:
        return Kind.NO_MEMBERS
    if not owners:
        return Kind.ORPHANED
    return Kind.MISPLACED if index in topic.queues else Kind.PHANTOM


def _judged(findings: TopicFindings, index: int, verdict: Verdict, offsets: OffsetHistory) -> InspectedQueue:
    group = findings.evidence.group
    supposed = may_be(findings.evidence, index, verdict.kind)
    row = _not_judged(findings.evidence, index, offsets)
    return replace(
        row,
        finding=verdict.kind.value,
        may_be=None if supposed is None else supposed.value,
        cause=findings.causes.get(index),
        reason=_reason(verdict),
        owners=group.client_ids(verdict.owners) if verdict.kind is Kind.ORPHANED else row.owners,
        expected=None if verdict.expected is None else group.client_ids(verdict.expected),
    )


def _reason(verdict: Verdict) -> str | None:
    if verdict.reason is None or verdict.kind not in NOT_JUDGED:
        return None
    return reason_in_short(*verdict.reason, moment)


def names_of(findings: TopicFindings, indices: list[int]) -> tuple[QueueName, ...]:
    names = sorted(map(findings.evidence.group.message_queue, indices))
    return tuple((name.broker_name, name.queue_id) for name in names)


def undecided_of(
    findings: TopicFindings,
    kind: Kind,
    indices: list[int],
    evidence: str,
    cause: str | None = None,
    judged_in_s: int | None = None,
) -> Undecided:
    """A question about queues of a topic."""
    return Undecided(
        kind=kind.value,
        topic=findings.evidence.topic.name,
        queues=names_of(findings, indices),
        cause=cause,
        evidence=evidence,
        judged_in_s=judged_in_s,
    )


def stands_ms(queue: QueueInState) -> int:
    """The time for which messages have waited without one being consumed."""
    return unconsumed_ms(queue) if queue.consumer_lag > 0 else 0


def _not_judged(topic: TopicEvidence, index: int, offsets: OffsetHistory) -> InspectedQueue:
    queue, name = topic.group.state.queues[index], topic.group.message_queue(index)
    hosted = next((one for one in topic.topic.hosts if one.broker == queue.broker), HostedQueues(queue.broker, 0, 0, 0))
    flow = flow_of(topic, index, offsets)
    return InspectedQueue(
        topic=name.topic,
        broker_name=name.broker_name,
        queue_id=name.queue_id,
        owners=owners_of(topic, index),
        readable=hosted.is_readable and queue.queue_id < hosted.read,
        writable=bool(hosted.perm & PERM_WRITE) and queue.queue_id < hosted.write,
        in_per_s=flow.in_per_s,
        out_per_s=flow.out_per_s,
        lag=flow.lag,
        still_s=max(0, queue.stalled_ms) // 1000 if queue.pull_lag > 0 and queue.stalled_ms else None,
        stands_s=stands_ms(queue) // 1000 if stands_ms(queue) >= STANDS_FROM_MS else None,
    )


def owners_of(topic: TopicEvidence, index: int) -> tuple[str, ...] | None:
    """The clients that report to own it. ``()``: every member has reported since the last change, and none owns it."""
    said = topic.group.client_ids(topic.owners(index))
    if said:
        return said
    if topic.exclusion is not None or topic.is_polled or topic.uncovered or not topic.route_known:
        return None
    return () if topic.is_since_change or not topic.members else None


def flow_of(topic: TopicEvidence, index: int, offsets: OffsetHistory) -> Flow:
    """The rates and lag of a queue; not known if its broker does not answer."""
    if topic.group.state.brokers[topic.group.state.queues[index].broker].lost_ts:
        return Flow()
    return offsets.flow(topic.group.message_queue(index), topic.now)


def _only_writable(topic: TopicEvidence) -> list[int]:
    return [
        topic.group.queue(topic.index, hosted.broker, queue_id)
        for hosted in topic.topic.hosts
        for queue_id in range(hosted.read if hosted.is_readable else 0, hosted.write)
    ]


def _with_hot_ones(rows: list[InspectedQueue]) -> list[InspectedQueue]:
    """The rows with the hot ones marked; unchanged if the rates of a queue are not known: there is no mean."""
    rates = [row.in_per_s for row in rows if row.in_per_s is not None]
    least = max(BUSY_PER_S, HOT * fmean(rates)) if len(rates) == len(rows) > 1 else float("inf")
    return [replace(row, hot=True) if (row.in_per_s or 0) >= least else row for row in rows]
