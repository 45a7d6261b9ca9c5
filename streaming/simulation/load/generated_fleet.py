"""Many stamped groups as one stream: who is in the fleet, what befalls whom, and in which order it is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import NamedTuple

from streaming.simulation.load.fleet_spec import JOIN, FleetSpec
from streaming.simulation.load.generated_group import GeneratedGroup
from streaming.simulation.load.group_template import IDLE_ROUNDS, GroupTemplate, RecordedDisruption
from streaming.simulation.load.renaming import GroupIdentity

Record = tuple[bytes, bytes]  # Kafka's key and value
WORDS = (
    "billing", "carts", "catalog", "coupons", "invoices", "ledger", "logistics", "members", "notices", "orders",
    "payments", "pricing", "refunds", "search", "shipping", "stock",
)  # fmt: skip


class GroupRound(NamedTuple):
    """What is told of one group's round, and when: at its marker."""

    ts: int
    group: GeneratedGroup
    records: list[Record]


class GeneratedFleet:
    """Groups take turns within a round. ``start_ts`` is when the first round of the first of them starts."""

    def __init__(self, groups: Sequence[GeneratedGroup], start_ts: int, round_ms: int) -> None:
        self._groups, self._start_ts, self._round_ms = groups, start_ts, round_ms
        self._begun = 0
        self._round = -1
        self._rounds = self._take_rounds()

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

    def rounds(self) -> Iterator[GroupRound]:
        """One group's round after the other, without an end."""
        return self._rounds

    def backlog(self, events: int) -> Iterator[Record]:
        """The next ``events`` at least: whole rounds of groups."""
        sent = 0
        for group_round in self._rounds:
            yield from group_round.records
            sent += len(group_round.records)
            if sent >= events:
                return

    def _take_rounds(self) -> Iterator[GroupRound]:
        for self._round in count(0):
            for group in self._groups[: self._begun]:
                told = group.next_round()
                yield GroupRound(told.ts, group, [(group.key, value) for value in told.events])

    def _starts(self, round_number: int, group_number: int) -> int:
        return self._start_ts + round_number * self._round_ms + group_number * self._round_ms // len(self._groups)


def generated_fleet(spec: FleetSpec, templates: Sequence[GroupTemplate], start_ts: int) -> GeneratedFleet:
    """Of ``templates_for`` this order. The same order gives the same events, but for their times."""
    chooser = _DisruptionChooser(spec, templates)
    groups = []
    for number in range(spec.groups):
        random = Random(f"{spec.seed}/{number}")
        name = f"{random.choice(WORDS)}-{number:05d}"
        identity = GroupIdentity(
            spec.cluster, f"simulation {spec.seed} {start_ts}", f"{name}-consumer", f"{name}-events"
        )
        index = random.randrange(IDLE_ROUNDS)
        groups.append(
            GeneratedGroup(templates[number % len(templates)], identity, random, chooser.next_disruption, index)
        )
    return GeneratedFleet(groups, start_ts, spec.round_ms)


class _DisruptionChooser:
    """What befalls whom, by the shares of an order."""

    def __init__(self, spec: FleetSpec, templates: Sequence[GroupTemplate]) -> None:
        self._random = Random(f"{spec.seed}/chance")
        self._joins = 1 - (1 - spec.churn) ** IDLE_ROUNDS
        breakable = sum(bool(_faults(template)) for template in templates)
        self._faulty = spec.faulty * len(templates) / breakable if breakable else 0.0

    def next_disruption(self, group: GeneratedGroup, _ts: int) -> RecordedDisruption | None:
        faults = _faults(group.template)
        if faults and self._random.random() < self._breaks(faults[0], group.template.idle.duration_ms):
            return self._random.choice(faults)
        return group.template.disruptions.get(JOIN) if self._random.random() < self._joins else None

    def _breaks(self, fault: RecordedDisruption, idle_ms: int) -> float:
        """How likely it is after a minute at rest, so that the group is in trouble for its share of the time."""
        if not self._faulty:
            return 0.0
        at_rest_ms = fault.mended_ms / self._faulty - fault.segment.duration_ms
        return idle_ms / max(idle_ms, at_rest_ms)


def _faults(template: GroupTemplate) -> list[RecordedDisruption]:
    return [one for name, one in template.disruptions.items() if name != JOIN]
