"""VIEW_DIVERGENCE: brokers list different members."""

from schemas.facts import Cause
from schemas.observed import BrokerList, MemberListsDiffer
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.topic_evidence import TopicEvidence


def view_divergence(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Brokers that host the topic list different members; each client asks only one of them.

    Each broker drops a silent client at its own time, so lists differ for a while after every change. Lists that name
    the same members, one of them twice, are of a dead connection.
    """
    is_young = topic.now - topic.grace.listed_ts < topic.timing.grace_membership_ms
    if not topic.views_differ or topic.has_broker_back or is_young:
        return None
    listed = {broker: topic.listed_by(broker) for broker in topic.hosts}
    lists = tuple(BrokerList(topic.broker_name(broker), topic.clients(those)) for broker, those in listed.items())
    by_all = frozenset(topic.members).intersection(*listed.values())
    if len(by_all) == len(topic.members):
        return None
    return explanation(
        Cause.VIEW_DIVERGENCE, found.queues, MemberListsDiffer(lists=lists), topic.members.keys() - by_all
    )
