"""The longest time for one record: records of the largest accepted size, for groups of the largest size.

Any program that writes into the Kafka topic chooses the content of a record. All other groups of the shard wait for it.
"""

from collections.abc import Iterator

from bench.large_groups import LARGE_GROUPS, names
from bench.results import Results
from bench.taking import ROUND_MS, T0, Taking, refused
from schemas.events import (
    AnyEvent,
    BrokerAnswer,
    ConsumeProgress,
    Heartbeat,
    OwnedQueue,
    OwnedQueues,
    QueueProgress,
    Round,
    RouteCopy,
    RouteQueues,
    Subscription,
    TopicRoute,
)
from schemas.records import MAX_RECORD_BYTES
from streaming.core.intake.size_limits import BROKERS_AT_MOST, CLIENTS_AT_MOST, QUEUES_AT_MOST, TOPICS_AT_MOST

TURNS = 7  # enough for graces to end and alerts to fire
STRATEGIES = (
    "AllocateMessageQueueAveragely",
    "AllocateMessageQueueConsistentHash",
    "AllocateMessageQueueByMachineRoom",
)


def measure(results: Results, quick: bool) -> None:
    with results.part("bounds"):
        for name, shape in SHAPES.items():
            for strategy in STRATEGIES:
                results.put(
                    f"bounds.{name}.{strategy.removeprefix('AllocateMessageQueue')}",
                    Taking(strategy).play(shape, TURNS),
                )
        for name, value in RECORDS.items():
            results.put(f"bounds.{name}", refused(value))
        for name, group in LARGE_GROUPS.items():
            results.put(f"bounds.{name}", Taking(STRATEGIES[0]).play(group.events, group.turns))


def _many_queues(group: Taking) -> Iterator[AnyEvent]:
    """One topic with all queues on one broker, ten clients that report all of their queues, and all offsets."""
    clients = names(10)
    yield from group.routes(1, 1, QUEUES_AT_MOST)
    share = QUEUES_AT_MOST // len(clients)
    owned = {
        place: [OwnedQueues("T0", "b0", tuple(OwnedQueue(n) for n in range(place * share, (place + 1) * share)))]
        for place in range(len(clients))
    }
    yield from group.reports(clients, owned)
    for first in range(0, QUEUES_AT_MOST, 1_000):
        progress = tuple(QueueProgress(n, 9, 5, 5) for n in range(first, min(first + 1_000, QUEUES_AT_MOST)))
        yield group.say(ConsumeProgress, topic="T0", broker_name="b0", queues=progress)
    yield from group.lists(clients, 1)


def _all_wrong(group: Taking) -> Iterator[AnyEvent]:
    """Two owners for each queue, and different lists of two brokers."""
    clients = names(10)
    yield from group.routes(1, 2, QUEUES_AT_MOST // 2)
    share = QUEUES_AT_MOST // 2 // 5
    owned = {
        place: [
            OwnedQueues("T0", broker, tuple(OwnedQueue(n) for n in range(place % 5 * share, (place % 5 + 1) * share)))
            for broker in ("b0", "b1")
        ]
        for place in range(len(clients))
    }
    yield from group.reports(clients, owned)
    answers = (BrokerAnswer("b0", True, tuple(clients)), BrokerAnswer("b1", True, tuple(clients[1:])))
    yield group.say(Round, brokers=answers)


def _all_orphaned(group: Taking) -> Iterator[AnyEvent]:
    """The most brokers; no client reports that it owns a queue, and half of the clients have left."""
    clients = names(40)
    left = clients[:20] if group.now >= T0 + 3 * ROUND_MS else clients
    yield from group.routes(1, BROKERS_AT_MOST, QUEUES_AT_MOST // BROKERS_AT_MOST)
    yield from group.reports(left, {})
    for broker in range(0, BROKERS_AT_MOST, 8):
        progress = tuple(QueueProgress(n, 9, 5, 5) for n in range(QUEUES_AT_MOST // BROKERS_AT_MOST))
        yield group.say(ConsumeProgress, topic="T0", broker_name=f"b{broker}", queues=progress)
    yield from group.lists(left, BROKERS_AT_MOST)


def _all_others(group: Taking) -> Iterator[AnyEvent]:
    """The most clients, and other ones in every second round."""
    turn = (group.now - T0) // ROUND_MS % 2
    yield from group.routes(1, 1, 64)
    yield from group.lists([f"{turn}-{name}" for name in names(CLIENTS_AT_MOST)], 1)


def _many_clients(group: Taking) -> Iterator[AnyEvent]:
    """The most clients, of which 2,000 report, for 64 queues."""
    clients = names(CLIENTS_AT_MOST)
    yield from group.routes(1, 1, 64)
    yield from group.reports(clients[:2_000], {})
    yield group.say(Heartbeat, broker_name="b0", client_id=clients[0], observed="listed", subscriptions=tuple(
        Subscription(f"topic-{n}", "*") for n in range(2_000)
    ))  # fmt: skip
    yield from group.lists(clients, 1)


def _many_of_both(group: Taking) -> Iterator[AnyEvent]:
    clients = names(CLIENTS_AT_MOST)
    yield from group.routes(1, 1, QUEUES_AT_MOST)
    yield from group.reports(clients[:2_000], {})
    yield from group.lists(clients, 1)


def _many_brokers(group: Taking) -> Iterator[AnyEvent]:
    """The most brokers, each with one queue. All list the same clients; name servers differ."""
    clients = names(40)
    hosts = tuple(RouteQueues(f"b{n}", 1, 1, 6) for n in range(BROKERS_AT_MOST))
    half = RouteCopy(("n2",), hosts[: BROKERS_AT_MOST // 2])
    yield group.say(TopicRoute, topic="T0", brokers=hosts, name_servers=("n1",), others=(half,))
    yield from group.reports(clients, {})
    yield from group.lists(clients, BROKERS_AT_MOST, asked=True)


def _many_topics(group: Taking) -> Iterator[AnyEvent]:
    """The most topics; each report names 100 of them with their queues."""
    clients = names(40)
    queues = QUEUES_AT_MOST // TOPICS_AT_MOST
    yield from group.routes(TOPICS_AT_MOST - 1, 1, queues)
    owned = [OwnedQueues(f"T{n}", "b0", tuple(map(OwnedQueue, range(queues)))) for n in range(100)]
    yield from group.reports(clients, dict.fromkeys(range(len(clients)), owned))
    yield from group.lists(clients, 1)


ZERO, BAD_EVENT = b"0", b'{"event":"round","schema":1,"cluster":"c","group":"g","ts":1700000000000,"round":0}'


def _array(element: bytes) -> bytes:
    return b"[" + b",".join([element] * ((MAX_RECORD_BYTES - 1) // (len(element) + 1))) + b"]"


RECORDS = {"record_of_zeros": _array(ZERO), "record_of_bad_events": _array(BAD_EVENT)}


SHAPES = {
    "queues": _many_queues,
    "queues_all_wrong": _all_wrong,
    "queues_orphaned": _all_orphaned,
    "clients": _many_clients,
    "clients_others": _all_others,
    "clients_and_queues": _many_of_both,
    "brokers": _many_brokers,
    "topics": _many_topics,
}
