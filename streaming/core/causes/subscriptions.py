"""SUBSCRIPTION_MISMATCH: members count as members for a topic to which they do not subscribe."""

from collections.abc import Iterable

from schemas.facts import Cause
from schemas.observed import NotSubscribed, SubscriptionsInTurn
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence


def subscription_mismatch(topic: TopicEvidence, found: Found) -> Explanation | None:
    """The member that should own the queue does not subscribe to its topic."""
    others, expected = set(topic.not_subscribers), topic.expected
    if not others:
        return None
    if expected is None:
        return _not_subscribed(topic, found.queues)
    explained = {q for q in found.queues if others & set(expected.get(q, ()))}
    return _not_subscribed(topic, explained, (q for q, owners in expected.items() if owners and others >= set(owners)))


def pulls_refused(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Some members do not subscribe to the topic: after their heartbeats brokers refuse the pulls of those that do."""
    return _not_subscribed(topic, found.queues) if topic.not_subscribers else _subscriptions_in_turn(topic, found)


def _not_subscribed(topic: TopicEvidence, explained: Iterable[int], predicted: Iterable[int] = ()) -> Explanation:
    others = topic.not_subscribers
    observed = NotSubscribed(clients=topic.clients(others), topic=topic.name)
    return explanation(Cause.SUBSCRIPTION_MISMATCH, explained, observed, others, predicted)


def _subscriptions_in_turn(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Brokers show sets of topics in turn, some without this topic. Which member sent the last one is not known."""
    sets = topic.of_group.rival_subscriptions
    if all(topic.name in one for one in sets) or not any(topic.name in one for one in sets):
        return None
    return explanation(
        Cause.SUBSCRIPTION_MISMATCH, found.queues, SubscriptionsInTurn(topics=tuple(sets), refused_topic=topic.name)
    )
