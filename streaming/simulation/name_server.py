"""The name server (``RouteInfoManager``): which brokers there are, and which queues of a topic they have."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from schemas.identity import MessageQueue
from streaming.core.allocation import sort_queues
from streaming.core.intake.topic_routes import PERM_READ

BROKER_EXPIRED_MS = 120_000  # NamesrvConfig, RouteInfoManager.DEFAULT_BROKER_CHANNEL_EXPIRED_TIME
SCAN_MS = 5_000
PERM_WRITE = 2
MASTER_ID = 0


class QueueData(NamedTuple):
    """A topic's queues on one broker. ``perm``: 4 readable, 2 writeable, 6 both."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int = 6


class BrokerData(NamedTuple):
    """A broker name with the ids that are registered for it; 0 is the master."""

    broker_name: str
    ids: tuple[int, ...]

    @property
    def has_master(self) -> bool:
        return MASTER_ID in self.ids


@dataclass(frozen=True, eq=False)
class TopicRouteData:
    """A topic's route. One object as long as it does not change, so that clients tell news by identity."""

    topic: str
    queue_datas: tuple[QueueData, ...]
    broker_datas: tuple[BrokerData, ...]
    order_topic_conf: str | None = None
    subscribe_info: tuple[MessageQueue, ...] = field(init=False)
    readable: frozenset[MessageQueue] = field(init=False)
    broker_names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        readable = (
            MessageQueue(self.topic, data.broker_name, queue_id)
            for data in self.queue_datas
            if data.perm & PERM_READ
            for queue_id in range(data.read_queue_nums)
        )
        object.__setattr__(self, "subscribe_info", sort_queues(readable))
        object.__setattr__(self, "readable", frozenset(self.subscribe_info))
        object.__setattr__(self, "broker_names", tuple(data.broker_name for data in self.broker_datas))


class NameServer:
    """Brokers register every 30 s. One that is silent for 120 s, or whose connection closes, is dropped."""

    def __init__(self) -> None:
        self._registered: dict[tuple[str, int], int] = {}  # (broker name, id) -> when it last registered
        self._topics: dict[str, dict[str, QueueData]] = {}
        self._order: dict[str, str] = {}
        self._routes: dict[str, TopicRouteData] = {}

    def register(self, broker_name: str, broker_id: int, topics: dict[str, QueueData], now: int) -> None:
        """A broker says that it lives, and which topics it has."""
        if (broker_name, broker_id) not in self._registered:
            self._routes.clear()
        self._registered[broker_name, broker_id] = now
        if broker_id != MASTER_ID:
            return
        for topic, data in topics.items():
            known = self._topics.setdefault(topic, {})
            if known.get(broker_name) != data:
                known[broker_name] = data
                self._routes.pop(topic, None)

    def unregister(self, broker_name: str, broker_id: int) -> None:
        """Its connection closed, or it has been silent for too long. Without a broker left, its queues go too."""
        if self._registered.pop((broker_name, broker_id), None) is None:
            return
        if not self._ids_of(broker_name):
            for known in self._topics.values():
                known.pop(broker_name, None)
        self._routes.clear()

    def scan(self, now: int) -> list[str]:
        """``scanNotActiveBroker``: names of the brokers that were dropped."""
        silent = [one for one, ts in self._registered.items() if now - ts > BROKER_EXPIRED_MS]
        for name, broker_id in silent:
            self.unregister(name, broker_id)
        return [name for name, _ in silent]

    def put_order_conf(self, topic: str, conf: str) -> None:
        """``orderTopicConf``: ``broker-a:8;broker-b:8``."""
        self._order[topic] = conf
        self._routes.pop(topic, None)

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(self._topics)

    def route(self, topic: str) -> TopicRouteData | None:
        """None: TOPIC_NOT_EXIST."""
        known = self._routes.get(topic)
        if known is not None:
            return known
        hosts = {name: data for name, data in self._topics.get(topic, {}).items() if self._ids_of(name)}
        if not hosts:
            return None
        brokers = tuple(BrokerData(name, self._ids_of(name)) for name in sorted(hosts))
        queues = tuple(hosts[name] for name in sorted(hosts))
        route = self._routes[topic] = TopicRouteData(topic, queues, brokers, self._order.get(topic))
        return route

    def _ids_of(self, broker_name: str) -> tuple[int, ...]:
        return tuple(sorted(broker_id for name, broker_id in self._registered if name == broker_name))


class Routing(Protocol):
    """What a name server is to those who ask it."""

    def route(self, topic: str) -> TopicRouteData | None: ...


class NameServers(Protocol):
    """Several name servers: which of them somebody asks now, a client by its id or the collector by its source."""

    def of(self, asker: str, now: int) -> Routing: ...


class OneNameServer:
    """They all say the same at once."""

    def __init__(self, name_server: NameServer) -> None:
        self._name_server = name_server

    def of(self, asker: str, now: int) -> Routing:
        return self._name_server
