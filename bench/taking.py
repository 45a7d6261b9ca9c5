"""A group that takes records of the largest size, and the longest time for a record of each kind."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from time import process_time  # other processes may run at the same time

from bench.machine import plain_loop_s
from schemas.events import (
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    NotAsked,
    OwnedQueues,
    Round,
    RouteQueues,
    Subscription,
    TopicRoute,
    encode_event,
)
from schemas.records import MAX_RECORD_BYTES, Rejected, decode_record
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.state.packing import pack, unpack
from streaming.core.step import take

T0 = 1_790_000_000_000
ROUND_MS = 15_000
NAMES_IN_A_PART = 4_000
AIM_S = 1.0
RECORDS_REFUSED = 100


def refused(value: bytes) -> dict[str, float]:
    """The time of a shard for a record of which each event is refused, and the number of facts of a batch of them."""
    record = Record(b"c/g", value, len(value), None, T0, "events", 0, 0)
    began = process_time()
    facts = fold(None, [record] * RECORDS_REFUSED, DEFAULT_SETTINGS).facts
    took_s = (process_time() - began) / RECORDS_REFUSED
    return {"record_s": round(took_s, 3), "facts_a_batch": len(facts), "plain_loop_s": round(plain_loop_s(), 3)}


class Taking:
    """One group, and the longest time for a record of each kind."""

    def __init__(self, strategy: str) -> None:
        self.group = Group(new_state("c", "g"), DEFAULT_SETTINGS)
        self.strategy = strategy
        self.now = T0
        self.longest_s: dict[str, float] = {}
        self.refused = 0
        self._seq = count()

    def play(self, shape: "Callable[[Taking], Iterable[AnyEvent]]", turns: int) -> dict[str, float]:
        gc.collect()
        for _ in range(turns):
            self.now += ROUND_MS
            for event in shape(self):
                self._take(encode_event(event))
        began = process_time()
        packed = pack(self.group.state)
        Group(unpack(packed), DEFAULT_SETTINGS)
        kept_s = process_time() - began
        state = self.group.state
        return {
            **{f"{kind}_s": round(s, 3) for kind, s in sorted(self.longest_s.items())},
            "aim_s": AIM_S,
            "plain_loop_s": round(plain_loop_s(), 3),
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
        """The events of a round, in parts if it is long; every broker lists the same clients."""
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
