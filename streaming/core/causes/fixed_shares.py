"""ROOM_WITHOUT_CONSUMER and CONFIG_MISSES_QUEUE: strategies that give some queues to no member."""

from schemas.facts import Cause
from schemas.observed import MemberGone, NotConfigured, RoomWithoutConsumer
from streaming.core.allocation import ByConfig, ByMachineRoom, class_of_strategy, simple_class_name
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.state.offsets import is_seen_to_move


def _goes_by(topic: TopicEvidence, name: str) -> bool:
    """True if the group is configured for the strategy, or all members that name one name it."""
    classes = {simple_class_name(one) for one in topic.of_group.classes if one}
    return topic.rule.strategy == name or classes == {class_of_strategy(name)}


def room_without_consumer(topic: TopicEvidence, found: Found) -> Explanation | None:
    """By machine room: a room's queues go to clients configured for that room, and there is none."""
    if not _goes_by(topic, ByMachineRoom.name):
        return None
    consumed = {topic.queue(queue).broker for queue in topic.queues if _is_consumed(topic, queue)}
    without = {topic.queue(queue).broker for queue in found.queues} - consumed
    explained = {queue for queue in found.queues if topic.queue(queue).broker in without}
    observed = RoomWithoutConsumer(broker_names=tuple(sorted(map(topic.broker_name, without))))
    return explanation(Cause.ROOM_WITHOUT_CONSUMER, explained, observed)


def _is_consumed(topic: TopicEvidence, queue: int) -> bool:
    """Who owned the queue before the last change, and was not heard since, may have released it if it stands still."""
    if topic.owners(queue, topic.grace.change_ts + 1):
        return True
    return bool(topic.owners(queue)) and is_seen_to_move(topic.group, topic.queue(queue))


def config_misses_queue(topic: TopicEvidence, found: Found) -> Explanation | None:
    """By configuration: no member's list names the queue. It was in the list of a client that has left, or in none."""
    if not _goes_by(topic, ByConfig.name):
        return None
    missed = {queue for queue in found.queues if not topic.owners(queue)}
    gone = {owner for queue in missed for owner in topic.queue(queue).last_stable_owners} - topic.members.keys()
    observed = MemberGone(clients=topic.clients(gone)) if gone else NotConfigured(members=len(topic.members))
    return explanation(Cause.CONFIG_MISSES_QUEUE, missed, observed, gone)
