"""Why no client polls: BROKER_REFUSES_GROUP, BROKER_NOT_REACHED, and PROXY_AWAY, since which clients are silent."""

from schemas.facts import Cause
from schemas.identity import proxy_address
from schemas.observed import PolledElsewhere, RefusedByBrokers, SilentSinceProxy
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.polls import addresses, is_closed, seen_elsewhere, silent_since_proxies
from streaming.core.evidence.topic_evidence import TopicEvidence


def broker_refuses_group(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Nobody of the group can consume at the queue's broker."""
    closed = {q for q in found.queues if is_closed(topic, topic.queue(q))}
    if not closed:
        return None
    brokers = {topic.broker_name(topic.queue(q).broker) for q in closed}
    return explanation(Cause.BROKER_REFUSES_GROUP, closed, RefusedByBrokers(broker_names=tuple(sorted(brokers))))


def silent_since_proxy(topic: TopicEvidence, found: Found) -> Explanation | None:
    """The last sign of a client at the queue's broker was seen just before."""
    away = {q: proxies for q in found.queues if (proxies := silent_since_proxies(topic, topic.queue(q)))}
    if not away:
        return None
    every = [one for proxies in away.values() for one in proxies]
    observed = SilentSinceProxy(
        clients=topic.clients(topic.members),
        proxies=addresses(every),
        away_ms=topic.now - min(one.since_ts for one in every),
    )
    return explanation(Cause.PROXY_AWAY, away, observed, topic.members)


def broker_not_reached(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Clients are seen at other brokers only."""
    elsewhere = {q: brokers for q in found.queues if (brokers := seen_elsewhere(topic, topic.queue(q)))}
    if not elsewhere:
        return None
    polled = {topic.broker_name(broker) for brokers in elsewhere.values() for broker in brokers}
    proxies = [topic.broker_name(proxy) for proxy in topic.of_group.proxies if topic.listed.listed_by(proxy)]
    observed = PolledElsewhere(
        broker_names=tuple(sorted(polled)), proxies=tuple(sorted(map(proxy_address, proxies))) or None
    )
    return explanation(Cause.BROKER_NOT_REACHED, elsewhere, observed)
