"""The name server (``RouteInfoManager``): the brokers, and the queues that each has of a topic."""

from collections.abc import Iterable, Iterator, Mapping

from schemas.identity import MessageQueue
from streaming.collector.wire.answers import QueueData, TopicRouteData
from streaming.core.allocation.together import sort_queues
from streaming.core.state.group_state import PERM_READ, PERM_WRITE

PERM_READ_AND_WRITE = 6


class TopicRoute:
    """A topic's route, ``body`` as a name server answers it. A route is a new object only if it has changed."""

    def __init__(self, topic: str, body: TopicRouteData) -> None:
        self.topic, self.body, self.queue_datas = topic, body, body.queue_datas or ()
        readable = ((data.broker_name, data.read_queue_nums) for data in self.queue_datas if data.perm & PERM_READ)
        self.subscribe_info = sort_queues(self._queues(readable))
        self.readable = frozenset(self.subscribe_info)
        self.broker_names = tuple(data.broker_name for data in self.queue_datas)

    def publish_info(self) -> tuple[MessageQueue, ...]:
        """``topicRouteData2TopicPublishInfo``: the queues that a producer may write to."""
        writable = ((data.broker_name, data.write_queue_nums) for data in self.queue_datas if data.perm & PERM_WRITE)
        return tuple(self._queues(writable))

    def _queues(self, numbers: Iterable[tuple[str, int]]) -> Iterator[MessageQueue]:
        return (MessageQueue(self.topic, name, queue_id) for name, number in numbers for queue_id in range(number))


class NameServer:
    """A name server. Brokers register every 30 s. A broker is dropped at once when its connection closes."""

    def __init__(self) -> None:
        self._registered: set[str] = set()
        self._topics: dict[str, dict[str, QueueData]] = {}
        self._routes: dict[str, TopicRoute] = {}

    def register(self, broker_name: str, topics: Mapping[str, QueueData]) -> None:
        """Register a broker with its topics."""
        if broker_name not in self._registered:
            self._routes.clear()
            self._registered.add(broker_name)
        for topic, data in topics.items():
            known = self._topics.setdefault(topic, {})
            if known.get(broker_name) != data:
                known[broker_name] = data
                self._routes.pop(topic, None)

    def unregister(self, broker_name: str) -> None:
        """Remove a broker whose connection closed, with its queues."""
        self._registered.discard(broker_name)
        for known in self._topics.values():
            known.pop(broker_name, None)
        self._routes.clear()

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(self._topics)

    def route(self, topic: str) -> TopicRoute | None:
        """Return the topic's route. None: TOPIC_NOT_EXIST."""
        known = self._routes.get(topic)
        if known is not None:
            return known
        hosts = self._topics.get(topic)
        if not hosts:
            return None
        body = TopicRouteData(tuple(hosts[name] for name in sorted(hosts)))
        route = self._routes[topic] = TopicRoute(topic, body)
        return route
