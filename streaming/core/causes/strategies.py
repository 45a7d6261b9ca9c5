"""STRATEGY_MISMATCH, and strategies that give some queues to no member: ROOM_WITHOUT_CONSUMER, CONFIG_MISSES_QUEUE."""

from schemas.facts import Cause
from schemas.observed import (
    MemberGone,
    NotConfigured,
    OwnersBalanceOtherwise,
    RoomWithoutConsumer,
    SdkMembers,
    SdksDiffer,
    StrategiesDiffer,
    StrategyMembers,
)
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.strategies import class_of_strategy, simple_class_name
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.state.offsets import is_seen_to_move


def strategy_mismatch(topic: TopicEvidence, found: Found) -> Explanation | None:
    by_class = topic.listed.by_strategy
    if len(by_class) < 2:
        return None
    rarest_first = sorted(by_class.items(), key=lambda item: (len(item[1]), item[0]))
    members = tuple(StrategyMembers(name, topic.clients(indices)) for name, indices in rarest_first)
    few = min(by_class.values(), key=len)
    explained = {queue for queue in found.queues if len(topic.owners(queue)) != 1}
    return explanation(Cause.STRATEGY_MISMATCH, explained, StrategiesDiffer(members=members), few)


def sdks_differ(topic: TopicEvidence, found: Found) -> Explanation | None:
    """All members of one SDK own what the strategy gives them, and none of another SDK does: it sorts differently.

    Members that own nothing do not count.
    """
    by_language = topic.listed.by_language
    expected = topic.expected_as_named
    if expected is None or len(by_language) < 2:
        return None
    misled = {one for queue in topic.queues for one in set(topic.owners(queue)) - set(expected.get(queue, ()))}
    odd = {language: indices for language, indices in by_language.items() if misled.issuperset(indices)}
    others = [one for language, indices in by_language.items() if language not in odd for one in indices]
    mistaken = {one for queue in topic.queues for one in set(topic.owners(queue)) ^ set(expected.get(queue, ()))}
    if not odd or not others or mistaken.intersection(others):
        return None
    members = tuple(SdkMembers(language, topic.clients(indices)) for language, indices in sorted(odd.items()))
    named = (index for indices in odd.values() for index in indices)
    return explanation(Cause.STRATEGY_MISMATCH, found.queues, SdksDiffer(members=members), named)


def owner_of_another_kind(topic: TopicEvidence, found: Found) -> Explanation | None:
    """The others leave the queue to a member that does not share out as they do."""
    owners = topic.left_to_non_reporting(found.queues, excluded=True)
    named = {index for indices in owners.values() for index in indices}
    observed = OwnersBalanceOtherwise(
        clients=topic.clients(named),
        exclusions=tuple(sorted({topic.members[index].exclusion or "" for index in named})),
    )
    return explanation(Cause.STRATEGY_MISMATCH, owners, observed, named)


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
