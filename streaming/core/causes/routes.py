"""ROUTE_LAG: members go by different routes."""

from schemas.facts import Cause, Kind
from schemas.observed import BrokerQueues, OldRoute, RouteAtNameServers, RoutesDiffer
from streaming.core.causes.explanation import Explanation, Found, explanation
from streaming.core.evidence.expected_owners import NotKnown
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.state.group_state import HostedQueues
from streaming.core.state.routes import readable

NEW_ROUTE_MS = 600_000  # how long a client may not know a queue that a change of the route brought
NAME_SERVERS_AT_MOST = 3
OWNERS = {Kind.ORPHANED: 0, Kind.STALLED: 0, Kind.DUPLICATED: 2}  # how many a queue with the finding has


def name_servers_differ(topic: TopicEvidence, found: Found) -> Explanation | None:
    """Clients that ask different name servers share out different routes."""
    if not topic.copies:
        return None
    doubtful = frozenset(q for q in found.queues if topic.is_doubtful(topic.queue(q)))
    copies = tuple(
        RouteAtNameServers(tuple(copy.name_servers[:NAME_SERVERS_AT_MOST]), _sizes(topic, copy.hosts))
        for copy in topic.copies
    )
    explained = doubtful | _shared_out_otherwise(topic, found.queues - doubtful)
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


def route_lag(topic: TopicEvidence, found: Found) -> Explanation | None:
    """The queue is new, or the route before gave it to another member, and some member still uses that route."""
    changed_ms = topic.now - topic.route_changed_ts
    if not topic.route_changed_ts or changed_ms > NEW_ROUTE_MS:
        return None
    if not topic.previous_hosts:  # the topic is new, or had no queues: there is no old route
        return None
    observed, then = OldRoute(changed_ms=changed_ms), _shares_before(topic)
    if topic.expected is None or then is None:
        known = topic.readable_before
        new = (q for q in found.queues if topic.queue(q).queue_id >= known.get(topic.queue(q).broker, 0))
        return explanation(Cause.ROUTE_LAG, new, observed)
    lagging = _lagging(topic, topic.expected, then)
    explained, predicted = set(), set()
    for queue, owners in topic.expected.items():
        now, earlier = set(owners), set(then.get(queue, ()))
        if lagging & _to_blame(found.kind, now, earlier) and set(topic.owners(queue)) <= now | earlier:
            explained.add(queue)
            if len(now - lagging | earlier & lagging) == OWNERS.get(found.kind):
                predicted.add(queue)
    return explanation(Cause.ROUTE_LAG, explained & found.queues, observed, predicted=predicted)


def _shares_before(topic: TopicEvidence) -> dict[int, list[int]] | None:
    """Index of each queue -> who should own it by the old route; None where it is not known."""
    try:
        shares = topic.share_out(list(topic.readable_before.items()))
    except NotKnown:
        return None
    names = {queue: (topic.queue(queue).broker, topic.queue(queue).queue_id) for queue in topic.queues}
    return {queue: shares.get(name, []) for queue, name in names.items()}


def _lagging(topic: TopicEvidence, now: dict[int, list[int]], then: dict[int, list[int]]) -> set[int]:
    """Members that may still share out the old route: they own nothing that only the new one gives them."""
    follow = {
        member for queue in topic.queues for member in set(topic.owners(queue)) & set(now[queue]) - set(then[queue])
    }
    return topic.members.keys() - follow


def _to_blame(kind: Kind, now: set[int], earlier: set[int]) -> set[int]:
    """The members that bring about the finding if they lag behind, of those that should own a queue now or before."""
    if OWNERS.get(kind) == 0:
        return now - earlier
    return earlier - now if kind is Kind.DUPLICATED else now ^ earlier
