"""REVIVE_STUCK: a broker does not give out again, or gives out late, what was popped and not acknowledged."""

from collections.abc import Iterator

from schemas.facts import Kind
from schemas.observed import ReviveBehind, counted
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group_state import Revival
from streaming.core.state.offsets import is_seen_lately

LATE_FOR_MS = 120_000  # a broker that has just started catches up


def revive_stuck(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Of each revive log, all queues on all brokers that stand still or are late: for the clients it is one fault."""
    state = evidence.group.state
    by_topic: dict[int, list[Revival]] = {}
    for one in state.revivals:
        queue = state.queues[one.queue]
        if is_seen_lately(evidence.group, queue) and (one.is_stuck or _late_for_ms(evidence, one) >= LATE_FOR_MS):
            by_topic.setdefault(queue.topic, []).append(one)
    for topic, behind in sorted(by_topic.items()):
        queues = tuple(sorted((one.queue for one in behind), key=evidence.group.message_queue))
        yield GroupFinding(Kind.REVIVE_STUCK, state.topics[topic].name, _observed(evidence, behind), queues=queues)


def _late_for_ms(evidence: GroupEvidence, one: Revival) -> int:
    read_ts = evidence.group.state.queues[one.queue].progress_ts
    return read_ts - one.late_since_ts if one.late_since_ts else 0


def _observed(evidence: GroupEvidence, behind: list[Revival]) -> ReviveBehind:
    group = evidence.group
    queues = {one.queue: group.state.queues[one.queue] for one in behind}
    stand = [queues[one.queue].progress_ts - one.grows_since_ts for one in behind if one.is_stuck]
    late = [_late_for_ms(evidence, one) for one in behind if not one.is_stuck]
    return ReviveBehind(
        broker_names=tuple(sorted({group.broker_of(queue).name for queue in queues.values()})),
        records=counted(sum(max(0, queue.consumer_lag) for queue in queues.values())),
        stands_ms=max(stand, default=None),
        late_for_ms=max(late, default=None),
    )
