"""A RocketMQ fleet as a collector tells of it: the same events, in the same proportion and order, as Kafka records.

Per group and minute, at a round every 5 s: 12 rounds, 60 reports (each client every 20 s), 80 heartbeats (each client
at both brokers every 30 s), 12 progresses (each topic at both brokers every 20 s), 2 routes (each topic every 60 s).
What a compressor or a cache could profit from unfairly is random: client ids, addresses, names, offsets.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

from bench.group import INTRODUCTION_MS, FleetGroup
from schemas.identity import group_key

CLUSTER = "bench"
ROUND_MS = 5_000
EVENTS_A_ROUND = 166 / 12  # per group, on average

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


def stretched_round_ms(groups: int, events_per_s: float) -> int:
    """The interval between rounds at which ``groups`` give so many events; all other intervals grow with it."""
    return round(1000 * groups * EVENTS_A_ROUND / events_per_s)


class Fleet:
    """``start_ts`` is when the first round starts, after groups were introduced; groups take turns within a round."""

    def __init__(self, shape: Shape, start_ts: int, round_ms: int = ROUND_MS, seed: int = 1) -> None:
        self.shape, self.start_ts, self.round_ms = shape, start_ts, round_ms
        self._random = Random(seed)
        self._groups = [FleetGroup(CLUSTER, shape, number, start_ts, seed) for number in range(shape.groups)]
        self._keys = [group_key(CLUSTER, group.name).encode() for group in self._groups]
        self._introduced = 0
        self._round = -1
        self._turns = self._take_turns()

    def introduce(self, up_to: int) -> Iterator[Sent]:
        """The first ``up_to`` groups in as few events as it takes to know them, healthy, when the next round starts."""
        for number in range(self._introduced, up_to):
            began = self._starts(self._round + 1, number) - INTRODUCTION_MS[-1] - self.round_ms
            for value in self._groups[number].introduce(began):
                yield self._keys[number], value
        self._introduced = up_to

    def backlog(self, events: int) -> Iterator[Sent]:
        """The next ``events`` at least of all groups introduced: whole rounds of groups."""
        sent = 0
        for _, records in self._turns:
            yield from records
            sent += len(records)
            if sent >= events:
                return

    def live(self) -> Iterator[tuple[int, list[Sent]]]:
        """One group's round after another without an end, each with the time of its marker."""
        return self._turns

    def _take_turns(self) -> Iterator[tuple[int, list[Sent]]]:
        for self._round in count(0):
            for number in range(self._introduced):
                group, key = self._groups[number], self._keys[number]
                changes = self._changes(group)
                started = self._starts(self._round, number)
                yield group.marker_ts(started), [(key, v) for v in group.round(self._round, started, changes)]

    def _changes(self, group: FleetGroup) -> list[bytes]:
        if not self.shape.churn or self._random.random() >= self.shape.churn:
            return []
        return group.change(clings=self._random.random() < self.shape.faults)

    def _starts(self, round_number: int, group_number: int) -> int:
        return self.start_ts + round_number * self.round_ms + group_number * self.round_ms // self.shape.groups
