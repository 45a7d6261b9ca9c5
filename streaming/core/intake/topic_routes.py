"""Routes: which queues a topic has on which broker.

Name servers do not talk to each other: each holds what brokers last registered with it (``BrokerController``,
``registerBrokerAll``), a broker that fails to for up to 120 s (``RouteInfoManager.scanNotActiveBroker``). A client asks
one of its own choice (``NettyRemotingClient.getAndCreateNameserverChannel``), a Go client each in turn. So where their
copies differ, none of them is *the* route: a topic then has every queue that some copy has.
"""

from collections.abc import Iterable

from schemas.events import RouteQueues, TopicRoute
from streaming.core.state.group import Group
from streaming.core.state.group_state import HostedQueues, RouteCopies, RouteCopy, Topic
from streaming.core.state.routes import is_route_doubtful, standing

ROUTE_RETURNS_WITHIN_MS = 180_000  # a name server is behind for 120 s at most; later it is a change again
KEEP_ROUTE_COPY_MS = 600_000  # a copy that no name server gives any more
STATIC_TOPIC_BROKER = "__syslo__"  # MixAll.LOGICAL_QUEUE_MOCK_BROKER_PREFIX
COPIES_AT_MOST = 8


def take_route(group: Group, event: TopicRoute) -> None:
    """Takes a whole route of a topic. A copy that is older than the known one is ignored."""
    topic = group.state.topics[group.topic(event.topic)]
    if event.ts <= topic.confirmed_ts:
        return
    given = _copies_in(group, event)
    if not topic.confirmed_ts:
        hosts = _union(copy.hosts for copy in given)
        if group.state.now and hosts != topic.hosts:
            topic.changed_ts = topic.changed_ts or event.ts  # new to the group: its members learn it one by one
        topic.hosts = hosts
        topic.copies = RouteCopies(given, differ_ts=event.ts) if len(given) > 1 else None
        group.request_evaluation()
    elif len(given) > 1 or topic.copies is not None or given[0].hosts != topic.hosts:
        _take_copies(group, topic, given, event.ts)
    if is_route_doubtful(group.state, topic) or topic.all_asked != (event.others is not None):
        group.request_evaluation()
    topic.all_asked = event.others is not None
    topic.confirmed_ts = event.ts
    _note_static(group, topic, event)


def _note_static(group: Group, topic: Topic, event: TopicRoute) -> None:
    """Older producers do not say that a topic is static: if a client's queues have shown it, it stays static."""
    is_static = event.static or (topic.is_static and bool(topic.hosts))
    if is_static != topic.is_static:
        topic.is_static = is_static
        group.request_evaluation()


def note_owned(group: Group, topic: Topic, broker_name: str, ts: int) -> None:
    """A member owns queues of a topic whose route is not known yet: the other members learn the topic from now on.

    Queues of a static topic are on a broker that no name server names (TopicQueueMappingUtils.getMockBrokerName).
    """
    if broker_name.startswith(STATIC_TOPIC_BROKER) and not topic.is_static:
        topic.is_static = True
        group.request_evaluation()
    if group.state.now and not topic.confirmed_ts and not topic.hosts and not topic.changed_ts:
        topic.changed_ts = ts


def _copies_in(group: Group, event: TopicRoute) -> list[RouteCopy]:
    copies = [RouteCopy(_hosted(group, event.brokers), event.ts, list(event.name_servers))]
    for other in event.others or ():
        hosts = _hosted(group, other.brokers)
        same = next((copy for copy in copies if copy.hosts == hosts), None)
        if same is None:
            copies.append(RouteCopy(hosts, event.ts, list(other.name_servers)))
        else:
            same.name_servers.extend(other.name_servers)
    return copies


def _hosted(group: Group, brokers: Iterable[RouteQueues]) -> list[HostedQueues]:
    hosts = [HostedQueues(group.broker(b.broker_name), b.read_queue_nums, b.write_queue_nums, b.perm) for b in brokers]
    return sorted(hosts, key=lambda hosted: hosted.broker)


def _take_copies(group: Group, topic: Topic, given: list[RouteCopy], ts: int) -> None:
    """Known copies that alternate are no change: they must not begin a grace again and again."""
    before = topic.copies or RouteCopies([RouteCopy(topic.hosts, topic.confirmed_ts)])
    stood = {tuple(copy.hosts) for copy in standing(before)}
    copies = topic.copies = RouteCopies(_remembered(group, before.given, given, ts), before.differ_ts, before.agreed_ts)
    stand = standing(copies)
    if {tuple(copy.hosts) for copy in stand} != stood:
        _change(topic, _union(copy.hosts for copy in stand), ts)
        if len(stand) > 1:
            copies.differ_ts = copies.differ_ts or ts
        elif copies.differ_ts:
            copies.differ_ts, copies.agreed_ts = 0, ts
        group.request_evaluation()
    if len(copies.given) == 1:
        topic.copies = None


def _remembered(group: Group, known: list[RouteCopy], given: list[RouteCopy], ts: int) -> list[RouteCopy]:
    """The copies given now, and those that were given lately; only the newest, if there are many."""
    newest = {tuple(copy.hosts): copy for copy in known}
    last_seen_ts = max((copy.seen_ts for copy in known), default=0)
    last = {index for copy in known if copy.is_given for index in copy.hosts}
    for copy in known:
        copy.is_given = False
    for copy in given:
        before = newest.get(tuple(copy.hosts))
        if before is not None:
            is_return = before.seen_ts < last_seen_ts and ts - before.seen_ts <= ROUTE_RETURNS_WITHIN_MS
            is_return = is_return and not _follow_a_broker(group, last, copy, ts)
            copy.returns = before.returns + is_return
        newest[tuple(copy.hosts)] = copy
    kept = [copy for copy in newest.values() if copy.is_given or ts - copy.seen_ts <= KEEP_ROUTE_COPY_MS]
    return sorted(kept, key=lambda copy: -copy.seen_ts)[:COPIES_AT_MOST]


def _follow_a_broker(group: Group, last: set[HostedQueues], copy: RouteCopy, ts: int) -> bool:
    """True if the copy differs from the last one by a broker that was away."""
    brokers = [group.state.brokers[hosted.broker] for hosted in last ^ set(copy.hosts)]
    oldest = ts - KEEP_ROUTE_COPY_MS
    return any(broker.lost_ts or 0 < oldest < broker.returned_ts for broker in brokers)


def _union(copies: Iterable[list[HostedQueues]]) -> list[HostedQueues]:
    """Every queue that some copy has."""
    hosts: dict[int, HostedQueues] = {}
    for hosted in (hosted for copy in copies for hosted in copy):
        known = hosts.get(hosted.broker, hosted)
        read, write = max(known.read, hosted.read), max(known.write, hosted.write)
        hosts[hosted.broker] = HostedQueues(hosted.broker, read, write, known.perm | hosted.perm)
    return [hosts[broker] for broker in sorted(hosts)]


def _change(topic: Topic, hosts: list[HostedQueues], ts: int) -> None:
    """A broker that comes or goes begins a longer grace than a new number of queues: it learns members by heartbeat."""
    topic.changed_ts = ts
    if hosts == topic.hosts:
        return
    if topic.hosts and hosts and {h.broker for h in hosts} != {h.broker for h in topic.hosts}:
        topic.hosts_changed_ts = ts
    topic.previous_hosts = topic.hosts
    topic.hosts = hosts
