"""A RocketMQ fleet as a collector tells of it: the same events, in the same proportion and order, as Kafka records.

Per group and minute, at a round every 5 s: 12 rounds, 60 reports (each client every 20 s), 80 heartbeats (each client
at both brokers every 30 s), 12 progresses (each topic at both brokers every 20 s), 2 routes (each topic every 60 s).
Everything that a compressor could profit from unfairly is random: client ids, addresses, names, offsets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from bench.group import FleetGroup
from schemas.identity import group_key

CLUSTER = "bench"
ROUND_MS = 5_000
EVENTS_A_ROUND = 166 / 12  # per group, in the long run

Sent = tuple[bytes, bytes]  # Kafka's key and value


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the fleet is. ``queues`` are those of a group's topic; its retry topic has one more a broker.

    ``churn`` is the share of groups that a client joins or leaves in one round; ``faults`` the share of those changes
    after which some client clings to the queues it had.
    """

    groups: int
    clients: int = 20
    queues: int = 32
    brokers: tuple[str, ...] = ("broker-a", "broker-b")
    churn: float = 0.0
    faults: float = 0.0


class Fleet:
    """``start_ts`` is when the first round starts; ``round_ms`` stretches the intervals of everything."""

    def __init__(self, shape: Shape, start_ts: int, round_ms: int = ROUND_MS, seed: int = 1) -> None:
        self.shape, self.start_ts, self.round_ms = shape, start_ts, round_ms
        self._random = Random(seed)
        self.groups = [FleetGroup(CLUSTER, shape, number, start_ts, seed) for number in range(shape.groups)]
        self._keys = [group_key(CLUSTER, group.name).encode() for group in self.groups]
        self._next = 0

    def introduce(self) -> Iterator[list[Sent]]:
        """Everything about every group, over 30 s, as short as it can be: afterwards all of it is known and healthy."""
        for number, (key, group) in enumerate(zip(self._keys, self.groups, strict=True)):
            yield [(key, value) for value in group.introduce(self._starts(0, number))]
        self._next = 1 + 30_000 // self.round_ms

    def rounds(self) -> Iterator[list[Sent]]:
        """One group's events of one round after another, in the order of time, without an end."""
        while True:
            for number, (key, group) in enumerate(zip(self._keys, self.groups, strict=True)):
                if self.shape.churn and self._random.random() < self.shape.churn:
                    changes = group.change(clings=self._random.random() < self.shape.faults)
                else:
                    changes = []
                values = group.round(self._next, self._starts(self._next, number), changes)
                yield [(key, value) for value in values]
            self._next += 1

    def _starts(self, round_number: int, group_number: int) -> int:
        """Groups take turns within a round."""
        return self.start_ts + round_number * self.round_ms + group_number * self.round_ms // self.shape.groups

    def backlog(self, events: int) -> Iterator[Sent]:
        """The next ``events`` at least, whole rounds of groups."""
        sent = 0
        for records in self.rounds():
            yield from records
            sent += len(records)
            if sent >= events:
                return
