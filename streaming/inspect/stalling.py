"""Queues that may be STALLED or SLOW_CONSUMER: messages wait, and a longer look must show if they are consumed."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from schemas.facts import Kind
from schemas.identity import is_retry_topic
from streaming.core.findings.queue_findings import TopicFindings
from streaming.core.settings import Timing
from streaming.core.state.queue_state import Queue as QueueInState
from streaming.inspect.observed_groups import Flow, ObservedGroup, OffsetHistory
from streaming.inspect.queues import STANDS_FROM_MS, flow_of, stands_ms, undecided_of
from streaming.inspect.snapshot import Undecided

NO_OFFSETS = "its brokers have not given the offsets"


class _Stall(NamedTuple):
    """A kind of stall. ``lasts_ms``: for how long messages have waited; 0: none wait."""

    kind: Kind
    not_seen: str
    lasts_ms: Callable[[QueueInState], int]
    lag: Callable[[QueueInState], int]
    judged_after_ms: Callable[[Timing], int]


def _not_pulled_ms(queue: QueueInState) -> int:
    return max(1, queue.stalled_ms) if queue.pull_lag > 0 and queue.stalled_ms else 0


def _not_consumed_ms(queue: QueueInState) -> int:
    """The waiting time of queues whose messages are pulled: a batch that takes long, or a listener that hangs."""
    return stands_ms(queue) if stands_ms(queue) >= STANDS_FROM_MS and not _not_pulled_ms(queue) else 0


_STALLS = (
    _Stall(Kind.STALLED, "pulled", _not_pulled_ms, lambda queue: queue.pull_lag, lambda timing: timing.stall_ms),
    _Stall(
        Kind.SLOW_CONSUMER,
        "consumed",
        _not_consumed_ms,
        lambda queue: queue.consumer_lag,
        lambda timing: timing.consume_stall_ms,
    ),
)


def may_stall(findings: TopicFindings) -> Iterator[Undecided]:
    queues = findings.evidence.group.state.queues
    for stall in _STALLS:
        indices = [index for index in _owned(findings) if stall.lasts_ms(queues[index])]
        if indices:
            yield _undecided(findings, stall, indices)


def _undecided(findings: TopicFindings, stall: _Stall, indices: list[int]) -> Undecided:
    topic, queues = findings.evidence, [findings.evidence.group.state.queues[index] for index in indices]
    extra_ms = topic.group.timing.grace_orderly_extra_ms if topic.of_group.orderly else 0
    judged_after_ms = stall.judged_after_ms(topic.group.timing) + extra_ms
    longest_ms = max(map(stall.lasts_ms, queues))
    evidence = (
        f"{sum(map(stall.lag, queues))} messages wait, none seen to be {stall.not_seen} for "
        f"{longest_ms // 1000} s; {stall.kind.value}: judged after {judged_after_ms // 1000} s"
    )
    judged_in_s = max(1, -(-(judged_after_ms - longest_ms) // 1000))
    return undecided_of(findings, stall.kind, indices, evidence, judged_in_s=judged_in_s)


def falls_behind(findings: TopicFindings, offsets: OffsetHistory) -> Iterator[Undecided]:
    """Queues of which much less is consumed than arrives: a burst, or a listener that is always too slow."""
    flows = {index: flow_of(findings.evidence, index, offsets) for index in _owned(findings)}
    queues = findings.evidence.group.state.queues
    behind = {
        q: flow for q, flow in flows.items() if _is_behind(flow) and not any(s.lasts_ms(queues[q]) for s in _STALLS)
    }
    if behind:
        arrive, leave = (round(sum(one[n] or 0 for one in behind.values()), 1) for n in (0, 1))
        waiting = sum(one.lag or 0 for one in behind.values())
        evidence = (
            f"{waiting} messages wait; {arrive}/s arrive and {leave}/s are consumed: "
            "a short look cannot tell a burst from listeners that are too slow"
        )
        yield undecided_of(findings, Kind.SLOW_CONSUMER, list(behind), evidence)


def _is_behind(flow: Flow) -> bool:
    """True if less than half is consumed, and more waits than what arrives between a few commits."""
    if flow.in_per_s is None or flow.out_per_s is None or flow.over_ms < STANDS_FROM_MS:
        return False
    return flow.out_per_s < flow.in_per_s / 2 and (flow.lag or 0) * 1_000 > 2 * STANDS_FROM_MS * flow.in_per_s


def without_offsets(observed: ObservedGroup, found: list[TopicFindings]) -> Iterator[Undecided]:
    """Queues without known offsets: only offsets show if a queue stalls."""
    for findings in found:
        topic = findings.evidence
        indices = [index for index in _owned(findings) if flow_of(topic, index, observed.offsets).lag is None]
        if indices and not is_retry_topic(topic.topic.name):
            yield undecided_of(findings, Kind.STALLED, indices, NO_OFFSETS)


def _owned(findings: TopicFindings) -> list[int]:
    """Queues that have one owner; none in broadcasting, where every member consumes every queue."""
    if findings.evidence.broadcasts:
        return []
    return [index for index, verdict in findings.verdicts.items() if verdict.kind in (Kind.MATCH, Kind.MISPLACED)]
