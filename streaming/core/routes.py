"""Routes: which queues a topic has on which broker."""

from schemas.events import RouteQueues, TopicRoute
from streaming.core.group import Group
from streaming.core.settings import Timing
from streaming.core.state import HostedQueues, Topic

PERM_READ = 4  # org.apache.rocketmq.common.constant.PermName.PERM_READ
STATIC_TOPIC_BROKER = "__syslo__"  # MixAll.LOGICAL_QUEUE_MOCK_BROKER_PREFIX


def take_route(group: Group, event: TopicRoute) -> None:
    """A full snapshot of a topic's route; an older copy than the one known is ignored."""
    topic = group.state.topics[group.topic(event.topic)]
    if event.ts <= topic.confirmed_ts:
        return
    hosts = sorted((_hosted(group, queues) for queues in event.brokers), key=lambda h: h.broker)
    if not topic.confirmed_ts:
        if group.state.now and hosts != topic.hosts:
            topic.changed_ts = topic.changed_ts or event.ts  # new to the group: its members learn of it one by one
        topic.hosts = hosts
        group.disturb()
    elif hosts != topic.hosts:
        _change(topic, hosts, event.ts)
        group.disturb()
    elif topic.confirmed_ts <= group.state.floor_ts:
        group.disturb()
    topic.confirmed_ts = event.ts
    _note_static(group, topic, event)


def _note_static(group: Group, topic: Topic, event: TopicRoute) -> None:
    """Producers of older versions do not say it: what a client's queues have shown holds until the topic is gone."""
    is_static = event.static or (topic.is_static and bool(event.brokers))
    if is_static != topic.is_static:
        topic.is_static = is_static
        group.disturb()


def note_owned(group: Group, topic: Topic, broker_name: str, ts: int) -> None:
    """A member owns queues of a topic of which no route has come yet: from then on the others learn of it.

    Those of a static topic lie on a broker that name servers never name (TopicQueueMappingUtils.getMockBrokerName).
    """
    if broker_name.startswith(STATIC_TOPIC_BROKER) and not topic.is_static:
        topic.is_static = True
        group.disturb()
    if group.state.now and not topic.confirmed_ts and not topic.hosts and not topic.changed_ts:
        topic.changed_ts = ts


def _hosted(group: Group, queues: RouteQueues) -> HostedQueues:
    return HostedQueues(group.broker(queues.broker_name), queues.read_queue_nums, queues.write_queue_nums, queues.perm)


def _change(topic: Topic, hosts: list[HostedQueues], ts: int) -> None:
    """A broker that comes or goes is more than a new number of queues: members appear there only by heartbeat."""
    if topic.hosts and hosts and {h.broker for h in hosts} != {h.broker for h in topic.hosts}:
        topic.hosts_changed_ts = ts
    topic.previous_hosts = topic.hosts
    topic.hosts = hosts
    topic.changed_ts = ts


def is_known(topic: Topic, now: int, floor_ts: int, timing: Timing) -> bool:
    """Whether a copy of the route is recent enough to go by, and newer than the last loss of events."""
    return topic.confirmed_ts > floor_ts and now - topic.confirmed_ts <= timing.route_max_age


def is_readable(hosted: HostedQueues) -> bool:
    return bool(hosted.perm & PERM_READ)
