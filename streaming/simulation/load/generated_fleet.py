"""Many generated groups as one stream: its groups, their disruptions, and the order of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from random import Random

from streaming.simulation.load.event_template import CLUSTER
from streaming.simulation.load.fleet_spec import JOIN, FleetSpec
from streaming.simulation.load.generated_group import GeneratedGroup, GroupIdentity, GroupRound
from streaming.simulation.load.group_template import END, IDLE_MINUTES, GroupTemplate, RecordedDisruption

WORDS = (
    "billing", "carts", "catalog", "coupons", "invoices", "ledger", "logistics", "members", "notices", "orders",
    "payments", "pricing", "refunds", "search", "shipping", "stock",
)  # fmt: skip
DAY_MS = 86_400_000


class GeneratedFleet:
    """A generated fleet. Groups take turns within a round. ``start_ts``: the start of the first group's first round.

    ``further``: a new group that takes the place of one that has ended.
    """

    def __init__(
        self, groups: Iterable[GeneratedGroup], start_ts: int, further: Callable[[], GeneratedGroup] | None = None
    ) -> None:
        self._groups, self._start_ts, self._further = list(groups), start_ts, further
        template = self._groups[0].template
        self._round_ms = template.idle[0].duration_ms // template.rounds_a_minute
        self._begun = 0
        self._round = -1
        self.rounds = self._take_rounds()

    def open(self) -> None:
        """The first rounds of all groups, as from a collector that begins to watch."""
        for number, group in enumerate(self._groups):
            group.open(self._starts(0, number))
        self._begun = len(self._groups)

    def introduce(self, up_to: int) -> Iterator[GroupRound]:
        """Make the first ``up_to`` groups known with few events; they are healthy when the next round starts."""
        for number in range(self._begun, up_to):
            yield self._groups[number].introduce(self._starts(self._round + 1, number))
        self._begun = up_to

    def _take_rounds(self) -> Iterator[GroupRound]:
        """The rounds of one group after the other, without an end."""
        for self._round in count(0):
            for place, group in enumerate(self._groups[: self._begun]):
                if self._further is not None and group.has_ended:
                    group = self._groups[place] = self._further()
                    group.open(self._starts(self._round, place))
                yield group.next_round()

    def _starts(self, round_number: int, group_number: int) -> int:
        return self._start_ts + round_number * self._round_ms + group_number * self._round_ms // len(self._groups)


def generated_fleet(spec: FleetSpec, templates: Sequence[GroupTemplate], start_ts: int) -> GeneratedFleet:
    """The fleet of this spec. The same spec gives the same events with other times."""
    chooser, numbers = _DisruptionChooser(spec, templates), count(spec.first)

    def further() -> GeneratedGroup:
        number = next(numbers)
        random = Random(f"{spec.seed}/{number}")
        name = f"{random.choice(WORDS)}-{number:05d}"
        source = f"simulation {spec.seed} {start_ts}"
        identity = GroupIdentity(CLUSTER, source, f"{name}-consumer", f"{name}-events")
        template = templates[number % len(templates)]
        idle_from = random.randrange(IDLE_MINUTES * template.rounds_a_minute)
        return GeneratedGroup(template, identity, random, chooser.next_disruption, idle_from)

    return GeneratedFleet([further() for _ in range(spec.groups)], start_ts, further)


class _DisruptionChooser:
    """Chooses disruptions of groups by the shares of a spec."""

    def __init__(self, spec: FleetSpec, templates: Sequence[GroupTemplate]) -> None:
        self._random = Random(f"{spec.seed}/chance")
        self._joins = 1 - (1 - spec.churn) ** templates[0].rounds_a_minute
        breakable = sum(bool(_faults(template)) for template in templates)
        self._faulty = spec.faulty * len(templates) / breakable if breakable else 0.0
        self._lives_ms = spec.lives_days * DAY_MS

    def next_disruption(self, group: GeneratedGroup, _ts: int) -> RecordedDisruption | None:
        faults, idle_ms = _faults(group.template), group.template.idle[0].duration_ms
        if self._lives_ms and self._random.random() < idle_ms / self._lives_ms:
            return group.template.disruptions[END]
        if faults and self._random.random() < self._breaks(faults[0], idle_ms):
            return self._random.choice(faults)
        return group.template.disruptions.get(JOIN) if self._random.random() < self._joins else None

    def _breaks(self, fault: RecordedDisruption, idle_ms: int) -> float:
        """Its probability after an idle minute, so that the group has trouble for its share of the time."""
        if not self._faulty:
            return 0.0
        between_ms = fault.mended_ms / self._faulty - fault.segment.duration_ms
        return idle_ms / max(idle_ms, between_ms)


def _faults(template: GroupTemplate) -> list[RecordedDisruption]:
    return [one for name, one in template.disruptions.items() if name not in (JOIN, END)]
