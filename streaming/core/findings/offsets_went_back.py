"""OFFSETS_WENT_BACK: messages are consumed again because the group's committed offsets are lower than they were."""

from collections.abc import Iterator
from heapq import nlargest

from schemas.facts import Kind, Severity
from schemas.observed import OffsetBack, OffsetsBack, counted
from streaming.core.evidence.exclusions import PULLS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group_state import Setback

MOST_QUEUES = 20


def offsets_went_back(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Offsets of a topic went back, and what lies between is being consumed again.

    Broadcasting clients keep their offsets to themselves, and a static topic has offsets of its own. Clients that pull
    actively may go back on purpose, as a Flink job does that begins again from its checkpoint.
    """
    state = evidence.group.state
    if not state.setbacks or evidence.broadcasts or _is_retired(evidence):
        return
    by_topic: dict[int, list[Setback]] = {}
    for setback in state.setbacks:
        if setback.is_proven:
            by_topic.setdefault(state.queues[setback.queue].topic, []).append(setback)
    for index, setbacks in sorted(by_topic.items()):
        topic = state.topics[index]
        if topic.is_static or not evidence.may_subscribe(topic.name):
            continue
        observed = _observed(evidence, setbacks)
        queues = tuple(sorted((one.queue for one in setbacks), key=evidence.group.message_queue))
        severity = Severity.INFO if observed.may_be_reset else Severity.WARNING
        yield GroupFinding(Kind.OFFSETS_WENT_BACK, topic.name, observed, queues=queues, severity=severity)


def _is_retired(evidence: GroupEvidence) -> bool:
    return not evidence.members and not evidence.uncovered and not evidence.has_left_lately


def _observed(evidence: GroupEvidence, setbacks: list[Setback]) -> OffsetsBack:
    group = evidence.group
    back = [one for one in setbacks if one.back_ts]
    brokers = {group.broker_of(group.state.queues[one.queue]).name for one in back}
    is_owned_twice = any(one.owned_twice for one in setbacks)
    return OffsetsBack(
        queues=tuple(_named(evidence, one) for one in nlargest(MOST_QUEUES, setbacks, _messages)),
        messages=counted(sum(map(_messages, setbacks))),
        before_ts=min(one.before_ts for one in setbacks),
        seen_ts=min(one.seen_ts for one in setbacks),
        may_be_reset=evidence.consumes == PULLS or not (back or is_owned_twice),
        owned_twice=is_owned_twice,
        broker_names=tuple(sorted(brokers)),
        back_ts=max((one.back_ts for one in back), default=None),
        changed_ts=max((one.changed_ts for one in setbacks), default=0) or None,
        more=len(setbacks) - MOST_QUEUES if len(setbacks) > MOST_QUEUES else None,
    )


def _messages(setback: Setback) -> int:
    return setback.height - setback.low


def _named(evidence: GroupEvidence, setback: Setback) -> OffsetBack:
    queue = evidence.group.message_queue(setback.queue)
    return OffsetBack(queue.broker_name, queue.queue_id, setback.height, setback.low)
