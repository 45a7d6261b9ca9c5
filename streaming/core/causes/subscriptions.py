"""SUBSCRIPTION_MISMATCH: members count as members for a topic to which they do not subscribe."""

from schemas.facts import Cause
from schemas.observed import NotSubscribed, SubscriptionsInTurn
from streaming.core.causes.explanation import Explanation, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence


def subscription_mismatch(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The member that should own the queue does not subscribe to its topic."""
    others, expected = topic.not_subscribers, topic.expected
    if not others:
        return None
    explained = queues if expected is None else {q for q in queues if set(expected.get(q, ())) & set(others)}
    return _not_subscribed(topic, explained)


def pulls_refused(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Some members do not subscribe to the topic: after their heartbeats brokers refuse the pulls of those that do."""
    return _not_subscribed(topic, queues) if topic.not_subscribers else _subscriptions_in_turn(topic, queues)


def _not_subscribed(topic: TopicEvidence, queues: frozenset[int] | set[int]) -> Explanation:
    others = topic.not_subscribers
    observed = NotSubscribed(clients=topic.clients(others), topic=topic.name)
    return explanation(Cause.SUBSCRIPTION_MISMATCH, queues, observed, others)


def _subscriptions_in_turn(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Brokers show sets of topics in turn, some without this topic. Which member sent the last one is not known."""
    sets = topic.of_group.rival_subscriptions
    if all(topic.name in one for one in sets) or not any(topic.name in one for one in sets):
        return None
    return explanation(
        Cause.SUBSCRIPTION_MISMATCH, queues, SubscriptionsInTurn(topics=tuple(sets), refused_topic=topic.name)
    )
