"""The specification of a fleet, and the group templates for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.errors import ConfigError
from streaming.simulation.faults import FAULT_NAMED, Fault
from streaming.simulation.load.group_template import END, LASTS_S, Disruption, GroupTemplate
from streaming.simulation.load.segment import ROUND_MS
from streaming.simulation.simulated_group import Shape, SimulatedGroup

CHURN = 0.001
JOIN = "a client joins, and leaves again"
# Groups that are simulated for every spec: strategy, RocketMQ's version, messages a second of each queue.
DISTINCT = (("AVG", 5, 20), ("AVG", 5, 12), ("AVG_BY_CIRCLE", 5, 50), ("AVG", 4, 16))


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """A fleet. ``queues``: those of a group's topic on all brokers; its retry topic has one more on each broker.

    ``churn``: the share of an idle group's rounds in which a client joins; it leaves two minutes later.
    ``faulty``: the average share of groups with one of ``faults``. ``lives_days``: after how many days, on average, all
    clients of a group leave, and a new group takes its place; 0: never. ``round_ms``: the collector's interval.
    ``first``: the number of the first group, so that the groups of two fleets have other names.
    """

    groups: int
    clients: int = 20
    queues: int = 32
    brokers: int = 2
    seed: int = 1
    churn: float = CHURN
    faults: tuple[Fault, ...] = ()
    faulty: float = 0.0
    lives_days: float = 0.0
    round_ms: int = ROUND_MS
    first: int = 0


def faults_named(names: Iterable[str]) -> tuple[Fault, ...]:
    """The faults of these names, or ``all``. Raises ConfigError for an unknown name."""
    wanted = list(names)
    if wanted == ["all"]:
        return tuple(FAULT_NAMED.values())
    unknown = [name for name in wanted if name not in FAULT_NAMED]
    if unknown:
        raise ConfigError(f"no such fault: {', '.join(unknown)}; there are all, {', '.join(FAULT_NAMED)}")
    return tuple(FAULT_NAMED[name] for name in wanted)


def templates_for(spec: FleetSpec, tell: Callable[[int, int], None] = lambda done, of: None) -> list[GroupTemplate]:
    """One template for each shape. Raises ConfigError if the groups are too small for a fault.

    ``tell`` gets the number of simulated templates: with many faults this takes a while.
    """
    wanted = faults_by_shape(spec)
    templates = []
    for number, (shape, faults) in enumerate(wanted.items()):
        tell(number, len(wanted))
        everyday = () if shape.strategy == "CONFIG" else (JOIN_AND_LEAVE,)  # a client that joins has no list
        last = (LAST_CLIENTS_LEAVE,) if spec.lives_days else ()
        disruptions = (*everyday, *last, *map(disruption_of, faults))
        templates.append(GroupTemplate(shape, f"{spec.seed}/{number}", disruptions, spec.round_ms))
    return templates


def faults_by_shape(spec: FleetSpec) -> dict[Shape, list[Fault]]:
    """The faults of each shape. Usual shapes get those that fit; others get their own shape. Raises ConfigError."""
    each = max(1, spec.queues // spec.brokers)
    common = [Shape(spec.clients, spec.brokers, each, name, False, version, rate) for name, version, rate in DISTINCT]
    found: dict[Shape, list[Fault]] = {shape: [] for shape in common}
    for fault in spec.faults:
        if spec.clients < fault.least_clients or spec.brokers < fault.least_brokers:
            raise ConfigError(
                f"{fault.name} takes {fault.least_clients} clients and {fault.least_brokers} brokers at least"
            )
        fitting = [shape for shape in common if fault.fits(shape)]
        shape = min(fitting, key=lambda one: len(found[one])) if fitting else replace(common[0], **fault.needs)
        found.setdefault(shape, []).append(fault)
    return found


# Until it is told: SLOW_CONSUMER after 300 or 450 s, since a batch may take minutes; what may be a deploy after 600 s.
LASTS_LONGER_S = {"stuck_code": 480, "mixed_strategies": 720}


def disruption_of(fault: Fault) -> Disruption:
    return Disruption(fault.name, fault.inject, LASTS_LONGER_S.get(fault.name, LASTS_S))


def _join(group: SimulatedGroup) -> Callable[[], object]:
    """A client joins; it leaves when the group is restored."""
    group.start()
    return lambda: None


def _leave(group: SimulatedGroup) -> Callable[[], object]:
    """All clients leave, for ever."""
    for client in list(group.clients):
        group.fleet.leave(client)
    return lambda: None


JOIN_AND_LEAVE = Disruption(JOIN, _join, lasts_s=120, afterwards_s=120)
# A collector makes rounds of a group without members for so long.
LAST_CLIENTS_LEAVE = Disruption(END, _leave, lasts_s=DEFAULT_POLICY.report_empty_ms // 1000, afterwards_s=0)
