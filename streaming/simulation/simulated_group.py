"""A running group of a given or random shape (size, strategy, configuration), in which faults are injected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log
from random import Random

from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategy import Strategy
from streaming.simulation.client_config import ClientConfig, Sdk
from streaming.simulation.consumer import Consumer
from streaming.simulation.fleet import Fleet

TOPIC, OTHER_TOPIC = "T", "U"
MOST_CLIENTS, MOST_QUEUES, MOST_BROKERS = 200, 1_024, 8
ROOMS = ("r1", "r2")
WARM_UP_S = 150


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a group. ``queues``: on each broker; ``rate``: messages a second of each queue."""

    clients: int
    brokers: int
    queues: int
    strategy: str
    orderly: bool
    version: int
    rate: int

    def __str__(self) -> str:
        config = " orderly" if self.orderly else ""
        return f"{self.clients} clients, {self.brokers} x {self.queues} queues, {self.strategy}{config}"


STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY")
WEIGHTS = (6, 3, 3, 1, 1, 1)


def random_shape(random: Random, **fixed: object) -> Shape:
    """A random shape. All orders of magnitude of the size are equally likely. ``fixed``: fields with given values."""
    brokers = min(MOST_BROKERS, _magnitude(random, 1, MOST_BROKERS))
    shape = {
        "clients": _magnitude(random, 1, MOST_CLIENTS),
        "brokers": brokers,
        "queues": max(1, _magnitude(random, 1, MOST_QUEUES) // brokers),
        "strategy": random.choices(STRATEGIES, WEIGHTS)[0],
        "orderly": random.random() < 0.12,
        "version": 5 if random.random() < 0.7 else 4,
        "rate": _magnitude(random, 1, 50),
    }
    return Shape(**(shape | fixed))  # type: ignore[arg-type]


def _magnitude(random: Random, least: int, most: int) -> int:
    return min(most, int(exp(random.uniform(log(least), log(most + 1)))))


class SimulatedGroup:
    """A fleet with clients. From ``warm_ts`` (epoch ms) on, all have joined and the allocation is settled."""

    def __init__(self, shape: Shape, seed: str, group: str = "G") -> None:
        self.shape, self.random = shape, Random(f"{seed}/world")
        rooms = [f"{room}@" if shape.strategy == "MACHINE_ROOM" else "" for room in ROOMS]
        self.brokers = [f"{rooms[n % 2]}broker-{n}" for n in range(shape.brokers)]
        self.fleet = Fleet(group, self.brokers, seed)
        self.strategy = self._strategy()
        self.config = ClientConfig(
            ((TOPIC, "*"),), self.strategy, shape.orderly, version=shape.version, speed=max(2_000, 4 * shape.rate)
        )
        self.put_topic(shape.queues)
        self.write(TOPIC, shape.rate)
        self.began_ts = self.warm_ts = self.fleet.now
        self.sdk_of: Callable[[str], Sdk] | None = None  # by client id, if they differ
        self.filter_of: Callable[[str], str] | None = None  # by client id, if clients write their filters differently
        self.mismatched_clients: set[str] = set()  # clients with another subscription
        self.away_ms = 0  # for how long it may have no members before a page is needed; 0: like any other group
        self._started = 0

    def _strategy(self) -> Strategy:
        made: dict[str, Strategy] = {
            "AVG": Averagely(),
            "AVG_BY_CIRCLE": AveragelyByCircle(),
            "CONSISTENT_HASH": ConsistentHash(),
            "MACHINE_ROOM": ByMachineRoom(frozenset(ROOMS)),
            "MACHINE_ROOM_NEARBY": MachineRoomNearby(Averagely(), by_prefix="-"),
            "CONFIG": Averagely(),
        }
        return made[self.shape.strategy]

    @property
    def clients(self) -> list[Consumer]:
        """The live clients."""
        return self.fleet.clients

    def put_topic(self, queues: int, topic: str = TOPIC) -> None:
        """Set the number of queues on each broker from now on."""
        self.fleet.put_topic(topic, dict.fromkeys(self.brokers, queues))

    def write(self, topic: str, rate: int) -> None:
        """Write ``rate`` messages a second to each of a topic's first queues."""
        self.fleet.producer.write(topic, rate * self.shape.queues * self.shape.brokers)

    def warm_up(self) -> None:
        for _ in range(self.shape.clients):
            self.start()
        self.fleet.run(WARM_UP_S)
        self.warm_ts = self.fleet.now

    def start(self, client_id: str | None = None, config: ClientConfig | None = None) -> Consumer:
        """A client joins, with a new id unless one is given."""
        self._started += 1
        number = self._started
        made = f"10.{number >> 8}.{number & 255}.{self.random.randrange(1, 255)}@{self.random.randrange(1, 65_536)}"
        name, given = client_id or made, config or self._own_config()
        if self.sdk_of is not None:
            given = replace(given, sdk=self.sdk_of(name))
        if self.filter_of is not None:
            given = replace(given, topics=tuple((t, self.filter_of(name) if f == "*" else f) for t, f in given.topics))
        client = self.fleet.join(name, given)
        if self.random.random() < 0.2:
            client.clock_offset_ms = self.random.randrange(-600_000, 600_000)
        return client

    def _own_config(self) -> ClientConfig:
        """The configuration of one client: with the CONFIG strategy each client has its own list."""
        if self.shape.strategy != "CONFIG":
            return self.config
        index = (self._started - 1) % self.shape.clients
        queues = [MessageQueue(TOPIC, name, n) for name in self.brokers for n in range(self.shape.queues)]
        mine = tuple(queue for n, queue in enumerate(queues) if n % self.shape.clients == index)
        return ClientConfig(self.config.topics, ByConfig(mine), self.config.orderly, version=self.shape.version)

    def config_of(self, client: Consumer) -> ClientConfig:
        """The configuration of a client after a restart: the current one of all, unless it has its own list."""
        return client.config if self.shape.strategy == "CONFIG" else self.config

    def restart(self, client: Consumer, delay_ms: int, config: ClientConfig | None = None) -> None:
        """Stop a client, and start it again with the same id after ``delay_ms``."""
        self.fleet.clock.after(delay_ms, self.start, client.client_id, config or client.config)

    def pick(self) -> Consumer:
        return self.random.choice(self.clients)

    def with_queues(self) -> list[Consumer]:
        """The clients that own queues of the topic."""
        return [client for client in self.clients if any(queue.topic == TOPIC for queue in client.owned())]
