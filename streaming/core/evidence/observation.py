"""Notes what changed of topics and queues at a round marker, before anything is judged: only this module writes."""

from typing import NamedTuple

from schemas.facts import Cause, Kind
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.queue_evidence import QueueEvidence
from streaming.core.evidence.stalls import InHand, held_by
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS
from streaming.core.intake.consume_offsets import STARTED_AFRESH
from streaming.core.state.group import Group
from streaming.core.state.queue_state import Queue


class TopicObservation(NamedTuple):
    """A topic with its queues: those in its route, and those that have an owner but are not in the route.

    ``held``: indices of all queues of the topic that some client reports to own. ``routed`` and ``outside`` are empty
    where no queue is judged by itself.
    """

    topic: TopicEvidence
    held: frozenset[int]
    routed: tuple[QueueEvidence, ...] = ()
    outside: tuple[QueueEvidence, ...] = ()


def observe(group: Group, evidence: GroupEvidence) -> list[TopicObservation]:
    """Every topic of the group. A second call at the same marker gives the same."""
    held: dict[int, set[int]] = {}
    for index in evidence.holders:
        held.setdefault(group.state.queues[index].topic, set()).add(index)
    return [
        _observe_topic(group, TopicEvidence(evidence, index, topic, group.routed_queues(index)), held.get(index, set()))
        for index, topic in enumerate(group.state.topics)
        if index not in group.abandoned
    ]


def _observe_topic(group: Group, topic: TopicEvidence, held: set[int]) -> TopicObservation:
    _note_members(topic)
    if topic.finding_of_all is not None:
        return TopicObservation(topic, frozenset(held))
    queues = group.state.queues
    routed = tuple(_observe_queue(topic, index, queues[index]) for index in topic.queues)
    outside = tuple(_observe_outside(topic, index, queues[index]) for index in sorted(held.difference(topic.queues)))
    return TopicObservation(topic, frozenset(held), routed, outside)


def _note_members(topic: TopicEvidence) -> None:
    if not topic.members:
        if not topic.uncovered:
            topic.topic.has_members_since_ts = 0
            topic.topic.is_committed = False
    elif not topic.topic.has_members_since_ts:
        topic.topic.has_members_since_ts = topic.now


def _observe_outside(topic: TopicEvidence, index: int, queue: Queue) -> QueueEvidence:
    queue.mismatch_since_ts = queue.mismatch_since_ts or topic.now
    return QueueEvidence(topic, index)


def _observe_queue(topic: TopicEvidence, index: int, queue: Queue) -> QueueEvidence:
    evidence = QueueEvidence(topic, index)
    _note_mismatch(evidence, queue)
    is_still = queue.stalled_ms > 0 or queue.unconsumed_since_ts > 0
    if is_still or queue.anomaly is not None:
        _note_idle_owner(evidence, queue, is_still)
    if is_still:
        _restart_the_stall_timers(evidence, queue)
    return evidence


def _note_mismatch(q: QueueEvidence, queue: Queue) -> None:
    """Notes since when the queue looks wrong without enough evidence, and nobody's, because settling must end."""
    if q.looks_right or q.topic.is_complete or not q.topic.is_fresh:
        if queue.anomaly is not None:
            queue.mismatch_since_ts = queue.unclaimed_since_ts = 0
        return
    queue.mismatch_since_ts = queue.mismatch_since_ts or q.topic.now
    queue.unclaimed_since_ts = 0 if q.newest else queue.unclaimed_since_ts or q.topic.now


def _note_idle_owner(q: QueueEvidence, queue: Queue, is_still: bool) -> None:
    """Notes since when the owner of a queue that stands still has had no messages of it in hand."""
    if not is_still or held_by(q.topic, q.index, q.newest) is not InHand.NOTHING:
        queue.idle_since_ts = 0
    elif not queue.idle_since_ts:
        reports = (report for owner in q.newest for report in q.topic.members[owner].reports)
        queue.idle_since_ts = max((report.answered_ts for report in reports), default=0)


def _restart_the_stall_timers(q: QueueEvidence, queue: Queue) -> None:
    """Restarts the stall timer when a queue gains an owner or a route, or when another client takes it over.

    Also while name servers differ on the topic, or differed just now, unless the queue is known to stand still.
    """
    is_new = queue.publish_delay_ms < 0 or (q.topic.is_converging and q.found not in BY_OFFSETS)
    starts_afresh = is_new or _is_back_in_the_route(q, queue) or _is_taken_over(q, queue)
    if queue.stalled_ms > 0 and starts_afresh:
        queue.stalled_ms = STARTED_AFRESH
    if queue.unconsumed_since_ts and (starts_afresh or (q.newest and not queue.owners)):
        queue.unconsumed_since_ts = q.topic.now


def _is_back_in_the_route(q: QueueEvidence, queue: Queue) -> bool:
    """Whether it stands still since before the route had it: nobody could read it then, though its owner kept it."""
    still_since_ts = queue.unconsumed_since_ts or queue.progress_ts - queue.stalled_ms
    return not q.was_in_route and still_since_ts < q.topic.route_changed_ts


def _is_taken_over(q: QueueEvidence, queue: Queue) -> bool:
    """Whether a new owner takes it over that did not cause the stall: from none, a dead connection, a stuck owner."""
    if (
        q.found is Kind.STALLED
        and queue.cause == Cause.STALE_CONNECTION
        and not q.topic.is_share_of_an_id_twice(q.index)
    ):
        return True
    if q.found is Kind.STALLED:
        return not set(q.newest) <= set(queue.owners)
    return q.found is Kind.ORPHANED and bool(q.newest or q.topic.now < q.topic.ready_ts)
