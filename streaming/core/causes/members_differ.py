"""VIEW_DIVERGENCE, MESSAGE_MODEL_MISMATCH and SUBSCRIPTION_MISMATCH: members that do not consume as one group."""

from collections.abc import Iterable

from schemas.facts import Cause, Kind
from schemas.observed import BrokerList, MemberListsDiffer, MessageModelsDiffer, NotSubscribed, SubscriptionsInTurn
from schemas.reasons import ReasonKind
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.broadcasting import broadcasting_members
from streaming.core.evidence.grace import has_broker_back
from streaming.core.evidence.topic_evidence import TopicEvidence


def view_divergence(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Brokers that host the topic list different members; each client asks only one of them.

    Each broker drops a silent client at its own time, so lists differ for a while after every change. Lists that name
    the same members, one of them twice, are of a dead connection. gRPC clients share nothing out by any list, and
    brokers do not list those of a proxy in cluster mode.
    """
    if topic.of_group.exclusion is ReasonKind.PROXY_CLIENT:
        return None
    is_young = topic.now - topic.grace.listed_ts < topic.timing.grace_membership_ms
    if not topic.listed.views_differ or has_broker_back(topic.host_brokers(), topic.now, topic.timing) or is_young:
        return None
    listed = {broker: topic.listed.listed_by(broker) for broker in topic.hosts}
    lists = tuple(BrokerList(topic.broker_name(broker), topic.clients(those)) for broker, those in listed.items())
    by_all = frozenset(topic.members).intersection(*listed.values())
    if len(by_all) == len(topic.members):
        return None
    return explanation(
        Cause.VIEW_DIVERGENCE, found.queues, MemberListsDiffer(lists=lists), topic.members.keys() - by_all
    )


def message_model_mismatch(topic: TopicEvidence, found: Found) -> Explanation | None:
    """A BROADCASTING member takes every queue, whatever it is given, and keeps its offsets to itself.

    The others share out the queues among all members, that one included (RebalanceImpl.rebalanceByTopic). So each queue
    of another member has two owners, and the group's offset stands still in its own share.
    """
    broadcasting = broadcasting_members(topic.of_group.balancing) & topic.members.keys()
    if not broadcasting or topic.broadcasts:
        return None
    owners = {queue: set(topic.owners(queue)) for queue in topic.queues}
    if found.kind is Kind.DUPLICATED:
        explained = {queue for queue, those in owners.items() if those & broadcasting}
        predicted = {queue for queue, those in (topic.expected or {}).items() if set(those) - broadcasting}
    else:
        explained = {queue for queue, those in owners.items() if those and those <= broadcasting}
        predicted = set()
    others = topic.members.keys() - broadcasting
    observed = MessageModelsDiffer(broadcasting=topic.clients(broadcasting), clustering=topic.clients(others))
    few = broadcasting if len(broadcasting) <= len(others) else others
    return explanation(Cause.MESSAGE_MODEL_MISMATCH, found.queues & explained, observed, few, predicted)


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
