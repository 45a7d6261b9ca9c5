"""Notes what changed of topics and queues at a round marker, before anything is judged: only this module writes."""

from collections.abc import Set
from typing import NamedTuple

from schemas.facts import Kind
from streaming.core.evidence.grace import is_converging
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.queue_evidence import QueueEvidence
from streaming.core.evidence.stalls import InHand, held_by_reports, is_overdue
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.finding_kinds import BY_OFFSETS
from streaming.core.state.group import Group
from streaming.core.state.offsets import restart_clocks
from streaming.core.state.queue_state import Queue

NOT_CONSUMED = BY_OFFSETS | {Kind.ORPHANED}


class TopicObservation(NamedTuple):
    """A topic with its queues: those in its route, and those that have an owner but are not in the route.

    ``held``: indices of all queues of the topic that some client reports to own. Where one finding holds for all
    queues, ``routed`` has only those that are overdue all the same, and ``outside`` is empty.
    """

    topic: TopicEvidence
    held: frozenset[int]
    routed: tuple[QueueEvidence, ...] = ()
    outside: tuple[QueueEvidence, ...] = ()


def observe(group: Group, evidence: GroupEvidence, abandoned: Set[int] = frozenset()) -> list[TopicObservation]:
    """Every topic of the group but those that are abandoned. A second call at the same marker gives the same."""
    held = evidence.held
    return [
        _observe_topic(
            group, TopicEvidence(evidence, index, topic, group.add_routed_queues(index)), held.get(index, set())
        )
        for index, topic in enumerate(group.state.topics)
        if index not in abandoned
    ]


def _observe_topic(group: Group, topic: TopicEvidence, held: set[int]) -> TopicObservation:
    queues = group.state.queues
    if topic.members:
        topic.topic.has_members_since_ts = topic.topic.has_members_since_ts or topic.now
    elif not topic.uncovered:
        topic.topic.has_members_since_ts = 0
    _note_intent(topic, queues)
    if topic.finding_of_all is not None:
        return TopicObservation(topic, frozenset(held), _overdue(topic, queues))
    if topic.is_polled:
        return TopicObservation(topic, frozenset(held), tuple(QueueEvidence(topic, index) for index in topic.queues))
    routed = tuple(_observe_queue(topic, index, queues[index]) for index in topic.queues)
    stray = sorted(held.difference(topic.queues, topic.unreadable))
    for index in stray:
        queues[index].mismatch_since_ts = queues[index].mismatch_since_ts or topic.now
    outside = tuple(QueueEvidence(topic, index) for index in stray)
    return TopicObservation(topic, frozenset(held), routed, outside)


def _overdue(topic: TopicEvidence, queues: list[Queue]) -> tuple[QueueEvidence, ...]:
    """Also where nothing is known of owners."""
    if topic.is_unwanted:
        return ()
    return tuple(QueueEvidence(topic, i) for i in topic.last_known_queues if is_overdue(topic.of_group, queues[i]))


def _note_intent(topic: TopicEvidence, queues: list[Queue]) -> None:
    """The clocks of a topic's queues start again when the group is to consume it again."""
    if topic.topic.is_unwanted and not topic.is_unwanted:
        for index in topic.known_queues:
            restart_clocks(queues[index], topic.now)
    topic.topic.is_unwanted = topic.is_unwanted


def _observe_queue(topic: TopicEvidence, index: int, queue: Queue) -> QueueEvidence:
    evidence = QueueEvidence(topic, index)
    _note_mismatch(evidence, queue)
    if evidence.stands_still or queue.anomaly is not None:
        _note_idle_owner(evidence, queue, evidence.stands_still)
    if evidence.stands_still:
        _note_who_is_to_consume(evidence, queue)
    return evidence


def _note_mismatch(q: QueueEvidence, queue: Queue) -> None:
    """Notes since when the queue looks wrong without enough evidence, and nobody's, because settling must end."""
    if q.looks_right or q.topic.is_complete or not q.topic.is_fresh:
        if queue.anomaly is not None:
            queue.mismatch_since_ts = queue.unclaimed_since_ts = 0
        return
    queue.mismatch_since_ts = queue.mismatch_since_ts or q.topic.now
    queue.unclaimed_since_ts = 0 if q.owners else queue.unclaimed_since_ts or q.topic.now


def _note_idle_owner(q: QueueEvidence, queue: Queue, is_still: bool) -> None:
    """Notes since when the owner of a queue that stands still has had no messages of it in hand."""
    if not is_still or held_by_reports(q.topic, q.index, q.owners) is not InHand.NOTHING:
        queue.idle_since_ts = 0
    elif not queue.idle_since_ts:
        reports = (report for owner in q.owners for report in q.topic.members[owner].reports)
        queue.idle_since_ts = max((report.answered_ts for report in reports), default=0)


def _note_who_is_to_consume(q: QueueEvidence, queue: Queue) -> None:
    """The clocks start again when the group begins to be able to read a queue.

    Also when a queue that people were called for gets an owner, or another one. What is told sooner also waits for an
    owner that has just taken the queue over, or does not know it yet because name servers differ. A queue that is left
    to a dead connection has no owner until brokers drop that; one that is left to a second instance never gets one.
    """
    is_taken_over = _is_taken_over(q, queue)
    gets_an_owner = is_taken_over or bool(q.owners and not queue.owners)
    if queue.publish_delay_ms < 0 or _is_back_in_the_route(q, queue) or (gets_an_owner and _is_told(q)):
        restart_clocks(queue, q.topic.now)
    if is_taken_over or (is_converging(q.topic.topic, q.topic.now, q.topic.timing) and q.found not in BY_OFFSETS):
        queue.owner_since_ts = q.topic.now
    if q.topic.is_left_to_a_second_entry(q.index):
        queue.owner_since_ts = q.topic.now if q.topic.listed.have_dead_connections else 0


def _is_told(q: QueueEvidence) -> bool:
    """True if people were called because nobody consumes the queue, and that was found since the clock began."""
    since_ts, naming_it = q.queue.unconsumed_since_ts, q.topic.fired_alerts.get(q.index, ())
    return any(Kind(alert.kind) in NOT_CONSUMED and alert.seen_ts > since_ts for alert in naming_it)


def _is_back_in_the_route(q: QueueEvidence, queue: Queue) -> bool:
    """True if it stands still since before the route had it: nobody could read it then, though its owner kept it."""
    still_since_ts = queue.unconsumed_since_ts or queue.progress_ts - queue.stalled_ms
    return not q.was_in_route and still_since_ts < q.topic.route_changed_ts


def _is_taken_over(q: QueueEvidence, queue: Queue) -> bool:
    """True if a new owner takes it over that did not cause the stall: from none, or from another client."""
    if q.found is Kind.ORPHANED:
        return bool(q.owners or q.topic.now < q.topic.grace.ready_ts)
    before = {*queue.owners, *queue.last_stable_owners}
    return bool(before) and not before.issuperset(q.owners)
