"""Many stamped groups as one stream: who is in the fleet, what befalls whom, and in which order it is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import NamedTuple

from streaming.simulation.load.fleet_spec import JOIN, Order
from streaming.simulation.load.generated_group import StampedGroup
from streaming.simulation.load.group_template import REST, Excursion, Mould
from streaming.simulation.load.renaming import Part

Record = tuple[bytes, bytes]  # Kafka's key and value
WORDS = (
    "billing", "carts", "catalog", "coupons", "invoices", "ledger", "logistics", "members", "notices", "orders",
    "payments", "pricing", "refunds", "search", "shipping", "stock",
)  # fmt: skip


class Turn(NamedTuple):
    """What is told of one group's round, and when: at its marker."""

    ts: int
    group: StampedGroup
    records: list[Record]


class StampedFleet:
    """Groups take turns within a round. ``start_ts`` is when the first round of the first of them starts."""

    def __init__(self, groups: Sequence[StampedGroup], start_ts: int, round_ms: int) -> None:
        self._groups, self._start_ts, self._round_ms = groups, start_ts, round_ms
        self._begun = 0
        self._round = -1
        self._turns = self._take_turns()

    def open(self) -> None:
        """All groups, as a collector sees them that begins to watch."""
        for number, group in enumerate(self._groups):
            group.open(self._starts(0, number))
        self._begun = len(self._groups)

    def introduce(self, up_to: int) -> Iterator[Record]:
        """The first ``up_to`` groups in as few events as it takes to know them, healthy, when the next round starts."""
        for number in range(self._begun, up_to):
            group = self._groups[number]
            for value in group.introduce(self._starts(self._round + 1, number)):
                yield group.key, value
        self._begun = up_to

    def turns(self) -> Iterator[Turn]:
        """One group's round after the other, without an end."""
        return self._turns

    def backlog(self, events: int) -> Iterator[Record]:
        """The next ``events`` at least: whole rounds of groups."""
        sent = 0
        for turn in self._turns:
            yield from turn.records
            sent += len(turn.records)
            if sent >= events:
                return

    def _take_turns(self) -> Iterator[Turn]:
        for self._round in count(0):
            for group in self._groups[: self._begun]:
                told = group.next_round()
                yield Turn(told.ts, group, [(group.key, value) for value in told.events])

    def _starts(self, round_number: int, group_number: int) -> int:
        return self._start_ts + round_number * self._round_ms + group_number * self._round_ms // len(self._groups)


def stamped_fleet(order: Order, moulds: Sequence[Mould], start_ts: int) -> StampedFleet:
    """Of ``moulds_for`` this order. The same order gives the same events, but for their times."""
    chance = _Chance(order, moulds)
    groups = []
    for number in range(order.groups):
        random = Random(f"{order.seed}/{number}")
        name = f"{random.choice(WORDS)}-{number:05d}"
        part = Part(order.cluster, f"simulation {order.seed} {start_ts}", f"{name}-consumer", f"{name}-events")
        place = random.randrange(REST)
        groups.append(StampedGroup(moulds[number % len(moulds)], part, random, chance.next_deed, place))
    return StampedFleet(groups, start_ts, order.round_ms)


class _Chance:
    """What befalls whom, by the shares of an order."""

    def __init__(self, order: Order, moulds: Sequence[Mould]) -> None:
        self._random = Random(f"{order.seed}/chance")
        self._joins = 1 - (1 - order.churn) ** REST
        breakable = sum(bool(_faults(mould)) for mould in moulds)
        self._faulty = order.faulty * len(moulds) / breakable if breakable else 0.0

    def next_deed(self, group: StampedGroup, _ts: int) -> Excursion | None:
        faults = _faults(group.mould)
        if faults and self._random.random() < self._breaks(faults[0], group.mould.rest.lasts_ms):
            return self._random.choice(faults)
        return group.mould.excursions.get(JOIN) if self._random.random() < self._joins else None

    def _breaks(self, fault: Excursion, rest_ms: int) -> float:
        """How likely it is after a minute at rest, so that the group is in trouble for its share of the time."""
        if not self._faulty:
            return 0.0
        at_rest_ms = fault.mended_ms / self._faulty - fault.stretch.lasts_ms
        return rest_ms / max(rest_ms, at_rest_ms)


def _faults(mould: Mould) -> list[Excursion]:
    return [one for name, one in mould.excursions.items() if name != JOIN]
