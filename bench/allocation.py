"""The cost of computing the expected owners: 20 clients, a topic of 32 queues, all clients at once.

RocketMQ's own Java is measured over the same topics. Both must give every client the same queues.
"""

from random import Random
from statistics import median
from time import perf_counter

from bench.results import Results
from bench.rocketmq_java import Fleet, Measured, NoJava, measure_java
from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategy import Strategy
from streaming.core.allocation.together import allocate_all

TOPICS, RUNS = 100, 9
ROOMS = ("east", "west")


def measure(results: Results, quick: bool) -> None:
    random = Random(1)
    fleets = [_fleet(random, number) for number in range(TOPICS * RUNS)]
    strategies = _strategies(fleets[0])
    with results.part("allocation"):
        for strategy in strategies:
            results.put(f"allocation.{strategy.name}.us_per_topic", _us_per_topic(strategy, fleets))
    keys = {strategy.name: f"allocation.{strategy.name}.rocketmq_java_us_per_topic" for strategy in strategies}
    with results.part(*keys.values()):
        try:
            measured = measure_java(fleets, TOPICS, ROOMS)
        except NoJava as why:
            for key in keys.values():
                results.put(key, {"skipped": str(why)})
            return
        for strategy in strategies:
            _require_same_shares(strategy, fleets, measured[strategy.name])
            results.put(keys[strategy.name], measured[strategy.name].us_per_topic)


def _strategies(first: Fleet) -> tuple[Strategy, ...]:
    """The strategies. ``bench/java/Allocations.java`` builds the same ones."""
    return (
        Averagely(),
        AveragelyByCircle(),
        ByConfig(tuple(first[0][:2])),
        ByMachineRoom(frozenset(ROOMS)),
        ConsistentHash(),
        MachineRoomNearby(Averagely(), by_prefix="-"),
    )


def _fleet(random: Random, number: int) -> Fleet:
    """A fleet with rooms in names: MACHINE_ROOM reads ``room@broker``, MACHINE_ROOM_NEARBY the part before the
    first -.
    """
    brokers = [f"{room}@{room}-broker" for room in ROOMS]
    queues = [MessageQueue(f"topic-{number}", broker, queue_id) for broker in brokers for queue_id in range(16)]
    clients = [
        f"{ROOMS[n % 2]}@{ROOMS[n % 2]}-10.{random.randrange(256)}.{random.randrange(256)}.7@{random.randrange(65_536)}"
        f"#{random.randrange(10**14, 10**15)}"
        for n in range(20)
    ]
    random.shuffle(queues)
    random.shuffle(clients)
    return queues, clients


def _us_per_topic(strategy: Strategy, fleets: list[Fleet]) -> float:
    """Microseconds a topic. Each topic has other clients and queues, so that no cache is used."""

    def once(some: list[Fleet]) -> float:
        began = perf_counter()
        for queues, clients in some:
            allocate_all(strategy, queues, clients)
        return perf_counter() - began

    runs = [fleets[first : first + TOPICS] for first in range(0, len(fleets), TOPICS)]
    return round(median(map(once, runs)) / TOPICS * 1e6, 1)


def _require_same_shares(strategy: Strategy, fleets: list[Fleet], java: Measured) -> None:
    """Raise AssertionError for the first client that gets other queues, or gets them in another order."""
    for (queues, clients), shares in zip(fleets, java.shares, strict=True):
        ours = allocate_all(strategy, queues, clients)
        for client, share in zip(ours.client_ids, ours.shares, strict=True):
            if share != shares[client]:
                raise AssertionError(f"{strategy.name}: {client} gets {share}, by RocketMQ's Java {shares[client]}")
