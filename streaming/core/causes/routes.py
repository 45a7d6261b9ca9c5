"""ROUTE_LAG: members go by different routes."""

from schemas.facts import Cause
from schemas.observed import BrokerQueues, OldRoute, RouteAtNameServers, RoutesDiffer
from streaming.core.causes.explanation import Explanation, explanation
from streaming.core.evidence.expected_owners import NotKnown
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.intake.topic_routes import readable
from streaming.core.state.group_state import HostedQueues

NAME_SERVERS_AT_MOST = 3


def name_servers_differ(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """Clients that ask different name servers share out different routes."""
    if not topic.copies:
        return None
    doubtful = frozenset(q for q in queues if topic.is_doubtful(topic.queue(q)))
    copies = tuple(
        RouteAtNameServers(tuple(copy.name_servers[:NAME_SERVERS_AT_MOST]), _sizes(topic, copy.hosts))
        for copy in topic.copies
    )
    explained = doubtful | _shared_out_otherwise(topic, queues - doubtful)
    return explanation(Cause.ROUTE_LAG, explained, RoutesDiffer(copies=copies))


def _sizes(topic: TopicEvidence, hosts: list[HostedQueues]) -> tuple[BrokerQueues, ...]:
    return tuple(BrokerQueues(topic.broker_name(broker), count) for broker, count in readable(hosts))


def _shared_out_otherwise(topic: TopicEvidence, queues: frozenset[int]) -> frozenset[int]:
    """Queues that one copy of the route gives to one member, and another copy to another."""
    try:
        shares = [topic.share_out(readable(copy.hosts)) for copy in topic.copies]
    except NotKnown:
        return frozenset()
    names = {queue: (topic.queue(queue).broker, topic.queue(queue).queue_id) for queue in queues}
    return frozenset(q for q, name in names.items() if len({tuple(share.get(name, ())) for share in shares}) > 1)


def route_lag(topic: TopicEvidence, queues: frozenset[int]) -> Explanation | None:
    """The queue is new, or the route before gave it to another member, and some member still uses that route."""
    changed_ms = topic.now - topic.route_changed_ts
    if not topic.route_changed_ts or changed_ms > topic.timing.new_route_ms:
        return None
    if not topic.previous_hosts:  # the topic is new, or had no queues: there is no old route
        return None
    before = readable(topic.previous_hosts)
    known = dict(before)
    new = frozenset(q for q in queues if topic.queue(q).queue_id >= known.get(topic.queue(q).broker, 0))
    explained = new | _of_another_before(topic, queues - new, before)
    return explanation(Cause.ROUTE_LAG, explained, OldRoute(changed_ms=changed_ms))


def _of_another_before(topic: TopicEvidence, queues: frozenset[int], before: list[tuple[int, int]]) -> set[int]:
    """Queues whose owner should have changed with the route, and that only the old and the new owner own."""
    if topic.expected is None or topic.broadcasts:
        return set()
    try:
        shares = topic.share_out(before)
    except NotKnown:
        return set()
    explained = set()
    for index in queues:
        queue, now = topic.queue(index), set(topic.expected.get(index, ()))
        then = set(shares[queue.broker, queue.queue_id])
        if then != now and set(topic.owners(index)) <= then | now:
            explained.add(index)
    return explained
