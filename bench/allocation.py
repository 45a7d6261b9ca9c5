"""What it costs to compute who should own what: 20 clients, a topic of 32 queues, all clients at once."""

from random import Random
from statistics import median
from time import perf_counter

from bench.results import Results
from schemas.identity import MessageQueue
from streaming.core.allocation import (
    Averagely,
    AveragelyByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    Strategy,
    allocate_all,
)

TOPICS, RUNS = 100, 9
ROOMS = ("east", "west")

_Fleet = tuple[list[MessageQueue], list[str]]


def measure(results: Results, quick: bool) -> None:
    with results.part("allocation"):
        results.put("allocation", _all_strategies())


def _all_strategies() -> dict[str, object]:
    """Microseconds a topic; the clients and queues are others for each topic, so that no cache answers."""
    random = Random(1)
    runs = [[_fleet(random, number) for number in range(TOPICS)] for _ in range(RUNS)]
    strategies: tuple[Strategy, ...] = (
        Averagely(),
        AveragelyByCircle(),
        ByConfig(tuple(runs[0][0][0][:2])),
        ByMachineRoom(frozenset(ROOMS)),
        ConsistentHash(),
        MachineRoomNearby(Averagely(), by_prefix="-"),
    )
    return {strategy.name: {"us_per_topic": _us_per_topic(strategy, runs)} for strategy in strategies}


def _fleet(random: Random, number: int) -> _Fleet:
    """Names with rooms: MACHINE_ROOM reads ``room@broker``, MACHINE_ROOM_NEARBY what stands before the first -."""
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


def _us_per_topic(strategy: Strategy, runs: list[list[_Fleet]]) -> float:
    def once(fleets: list[_Fleet]) -> float:
        began = perf_counter()
        for queues, clients in fleets:
            allocate_all(strategy, queues, clients)
        return perf_counter() - began

    return round(median(map(once, runs)) / TOPICS * 1e6, 1)
