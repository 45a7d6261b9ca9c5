"""The longest that one record may take: records of the largest size that is read, for groups as large as may be.

A program that writes into the Kafka topic chooses what is in a record, and all other groups of its shard wait for it.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from time import process_time  # other processes may be at work meanwhile

from bench.results import Results
from schemas.codec import decode_record
from schemas.events import (
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    Heartbeat,
    NotAsked,
    OwnedQueue,
    OwnedQueues,
    QueueProgress,
    Round,
    RouteCopy,
    RouteQueues,
    Subscription,
    TopicRoute,
    encode_event,
)
from schemas.quarantine import Rejected
from schemas.records import MAX_RECORD_BYTES
from streaming.core.intake.size_limits import BROKERS_AT_MOST, CLIENTS_AT_MOST, QUEUES_AT_MOST, TOPICS_AT_MOST
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.state.packing import pack, unpack
from streaming.core.step import take

T0 = 1_790_000_000_000
ROUND_MS = 15_000
NAMES_IN_A_PART = 4_000
TURNS = 7  # graces end, and what is wrong fires
STRATEGIES = (
    "AllocateMessageQueueAveragely",
    "AllocateMessageQueueConsistentHash",
    "AllocateMessageQueueByMachineRoom",
)


def measure(results: Results, quick: bool) -> None:
    with results.part("bounds"):
        for name, shape in SHAPES.items():
            for strategy in STRATEGIES:
                gc.collect()
                results.put(
                    f"bounds.{name}.{strategy.removeprefix('AllocateMessageQueue')}", _Taking(strategy).play(shape)
                )


class _Taking:
    """One group, and the longest that a record of each kind took."""

    def __init__(self, strategy: str) -> None:
        self.group = Group(new_state("c", "g"), Settings())
        self.strategy = strategy
        self.now = T0
        self.longest_s: dict[str, float] = {}
        self.refused = 0
        self._seq = count()

    def play(self, shape: "Callable[[_Taking], Iterable[AnyEvent]]") -> dict[str, float]:
        for _ in range(TURNS):
            self.now += ROUND_MS
            for event in shape(self):
                self._take(encode_event(event))
        began = process_time()
        packed = pack(self.group.state)
        Group(unpack(packed), Settings())
        kept_s = process_time() - began
        state = self.group.state
        return {
            **{f"{kind}_s": round(s, 3) for kind, s in sorted(self.longest_s.items())},
            "pack_and_unpack_s": round(kept_s, 3),
            "state_mb": round(len(packed) / 1e6, 1),
            "clients": len(state.clients),
            "queues": len(state.queues),
            "refused": self.refused,
        }

    def _take(self, value: bytes) -> None:
        assert len(value) <= MAX_RECORD_BYTES, len(value)
        began = process_time()
        (event,) = decode_record(None, value, len(value), None)
        assert not isinstance(event, Rejected), event
        self.refused += len(take(self.group, event))
        took_s = process_time() - began
        self.group.facts.clear()
        kind = type(event).__name__
        self.longest_s[kind] = max(took_s, self.longest_s.get(kind, 0))

    def say(self, kind: type, **fields: object) -> AnyEvent:
        named = {"cluster": "c", "group": "g", "ts": self.now, "round": self.now, "seq": next(self._seq)}
        event: AnyEvent = kind(**{"schema": 1, **named, **fields})
        return event

    def routes(self, topics: int, brokers: int, queues: int) -> Iterator[AnyEvent]:
        for topic in range(topics):
            hosts = tuple(RouteQueues(f"b{n}", queues, queues, 6) for n in range(brokers))
            yield self.say(TopicRoute, topic=f"T{topic}", brokers=hosts)

    def reports(self, clients: Sequence[str], owned: dict[int, list[OwnedQueues]]) -> Iterator[AnyEvent]:
        subscriptions = (Subscription("T0", "*"),)
        for place, client_id in enumerate(clients):
            yield self.say(
                AssignmentReport, client_id=client_id, answered=True, answered_ts=self.now, start_ts=T0,
                message_model="CLUSTERING", strategy=self.strategy, subscriptions=subscriptions,
                owned=tuple(owned.get(place, ())),
            )  # fmt: skip

    def lists(self, clients: Sequence[str], brokers: int, asked: bool = False) -> Iterator[AnyEvent]:
        """A round, in parts if it is long; every broker lists the same."""
        pieces = [
            BrokerAnswer(f"b{broker}", True, tuple(clients[at : at + NAMES_IN_A_PART]), entries=len(clients))
            for broker in range(brokers)
            for at in range(0, len(clients), NAMES_IN_A_PART)
        ]
        named = sum(len(piece.client_ids) for piece in pieces)
        in_a_part = max(1, len(pieces) * NAMES_IN_A_PART // max(named, NAMES_IN_A_PART))
        parts = [pieces[at : at + in_a_part] for at in range(0, len(pieces), in_a_part)]
        not_asked = tuple(NotAsked(one, "busy") for one in clients[:1_000]) if asked else ()
        for part, answers in enumerate(parts):
            yield self.say(
                Round, brokers=tuple(answers), part=part, parts=len(parts),
                not_asked=not_asked if part == 0 else (),
            )  # fmt: skip


def _names(number: int) -> list[str]:
    return [f"{n:x}@{n:x}" for n in range(number)]


def _many_queues(group: _Taking) -> Iterator[AnyEvent]:
    """One topic with all queues on one broker, ten clients who report all of theirs, offsets of all."""
    clients = _names(10)
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


def _all_wrong(group: _Taking) -> Iterator[AnyEvent]:
    """The same, but each queue has two owners, and the lists of two brokers differ."""
    clients = _names(10)
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


def _all_orphaned(group: _Taking) -> Iterator[AnyEvent]:
    """On as many brokers as there may be; nobody says that it owns anything, and half of the clients have left."""
    clients = _names(40)
    left = clients[:20] if group.now >= T0 + 3 * ROUND_MS else clients
    yield from group.routes(1, BROKERS_AT_MOST, QUEUES_AT_MOST // BROKERS_AT_MOST)
    yield from group.reports(left, {})
    for broker in range(0, BROKERS_AT_MOST, 8):
        progress = tuple(QueueProgress(n, 9, 5, 5) for n in range(QUEUES_AT_MOST // BROKERS_AT_MOST))
        yield group.say(ConsumeProgress, topic="T0", broker_name=f"b{broker}", queues=progress)
    yield from group.lists(left, BROKERS_AT_MOST)


def _all_others(group: _Taking) -> Iterator[AnyEvent]:
    """In every second round other clients, as many as there may be."""
    turn = (group.now - T0) // ROUND_MS % 2
    yield from group.routes(1, 1, 64)
    yield from group.lists([f"{turn}-{name}" for name in _names(CLIENTS_AT_MOST)], 1)


def _many_clients(group: _Taking) -> Iterator[AnyEvent]:
    """As many clients as there may be, of whom 2,000 report, for 64 queues."""
    clients = _names(CLIENTS_AT_MOST)
    yield from group.routes(1, 1, 64)
    yield from group.reports(clients[:2_000], {})
    yield group.say(Heartbeat, broker_name="b0", client_id=clients[0], observed="listed", subscriptions=tuple(
        Subscription(f"topic-{n}", "*") for n in range(2_000)
    ))  # fmt: skip
    yield from group.lists(clients, 1)


def _many_of_both(group: _Taking) -> Iterator[AnyEvent]:
    clients = _names(CLIENTS_AT_MOST)
    yield from group.routes(1, 1, QUEUES_AT_MOST)
    yield from group.reports(clients[:2_000], {})
    yield from group.lists(clients, 1)


def _many_brokers(group: _Taking) -> Iterator[AnyEvent]:
    """A queue on each of so many brokers, all of which list the same clients; name servers differ."""
    clients = _names(40)
    hosts = tuple(RouteQueues(f"b{n}", 1, 1, 6) for n in range(BROKERS_AT_MOST))
    half = RouteCopy(("n2",), hosts[: BROKERS_AT_MOST // 2])
    yield group.say(TopicRoute, topic="T0", brokers=hosts, name_servers=("n1",), others=(half,))
    yield from group.reports(clients, {})
    yield from group.lists(clients, BROKERS_AT_MOST, asked=True)


def _many_topics(group: _Taking) -> Iterator[AnyEvent]:
    """A report and a heartbeat that name as many topics as there may be, each with its queues."""
    clients = _names(40)
    queues = QUEUES_AT_MOST // TOPICS_AT_MOST
    yield from group.routes(TOPICS_AT_MOST - 1, 1, queues)
    owned = [OwnedQueues(f"T{n}", "b0", tuple(map(OwnedQueue, range(queues)))) for n in range(100)]
    yield from group.reports(clients, dict.fromkeys(range(len(clients)), owned))
    yield from group.lists(clients, 1)


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
