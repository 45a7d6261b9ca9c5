"""PROXY_AWAY: clients that are listed, and consume nothing since a proxy stopped answering."""

from schemas.facts import Cause
from schemas.observed import SilentSinceProxy
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.polls import addresses, silent_since_proxies
from streaming.core.evidence.topic_evidence import TopicEvidence


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
