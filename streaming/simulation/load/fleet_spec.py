"""What fleet is wanted, and of which simulated groups it is stamped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from streaming.errors import ConfigError
from streaming.simulation.faults import FAULT_NAMED, Fault
from streaming.simulation.load.group_template import LASTS_S, Disruption, GroupTemplate
from streaming.simulation.load.segment import ROUND_MS
from streaming.simulation.simulated_group import Shape, SimulatedGroup

CHURN = 0.001
JOIN = "a client joins, and leaves again"
EVENTS_A_ROUND = 164 / 12  # of a group of 20 clients at two brokers, on average
# Groups that are simulated, whatever is wanted: strategy, RocketMQ's version, messages a second of each queue.
DISTINCT = (("AVG", 5, 20), ("AVG", 5, 12), ("AVG_BY_CIRCLE", 5, 50), ("AVG", 4, 16))


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """``queues`` are those of a group's topic on all brokers together; its retry topic has one more on each.

    ``churn`` is the share of the rounds of a group at rest in which a client joins it, to leave two minutes later.
    ``faulty`` is the share of all groups that is in trouble, on average, by ``faults``.
    """

    groups: int
    clients: int = 20
    queues: int = 32
    brokers: int = 2
    seed: int = 1
    cluster: str = "simulated"
    churn: float = CHURN
    faults: tuple[Fault, ...] = ()
    faulty: float = 0.0
    round_ms: int = ROUND_MS


def stretched_round_ms(groups: int, events_per_s: float) -> int:
    """The interval between rounds at which ``groups`` give so many events; all other intervals grow with it."""
    return round(1000 * groups * EVENTS_A_ROUND / events_per_s)


def faults_named(names: Iterable[str]) -> tuple[Fault, ...]:
    """``all``, or faults by their names. Raises ConfigError for one that there is not."""
    expected = list(names)
    if expected == ["all"]:
        return tuple(FAULT_NAMED.values())
    unknown = [name for name in expected if name not in FAULT_NAMED]
    if unknown:
        raise ConfigError(f"no such fault: {', '.join(unknown)}; there are all, {', '.join(FAULT_NAMED)}")
    return tuple(FAULT_NAMED[name] for name in expected)


def templates_for(spec: FleetSpec, tell: Callable[[int, int], None] = lambda done, of: None) -> list[GroupTemplate]:
    """One for each shape that is wanted. Raises ConfigError where the groups are too small for a fault.

    ``tell`` hears how many of them are simulated: with many faults that takes a while.
    """
    pace = spec.round_ms / ROUND_MS
    expected = faults_by_shape(spec)
    templates = []
    for number, (shape, faults) in enumerate(expected.items()):
        tell(number, len(expected))
        templates.append(
            GroupTemplate(shape, f"{spec.seed}/{number}", (*_everyday(shape), *map(disruption_of, faults)), pace)
        )
    return templates


def faults_by_shape(spec: FleetSpec) -> dict[Shape, list[Fault]]:
    """The usual shapes share the faults that fit them; others have one of their own. Raises ConfigError."""
    common = _shapes(spec)
    found: dict[Shape, list[Fault]] = {shape: [] for shape in common}
    for fault in spec.faults:
        if spec.clients < fault.least_clients or spec.brokers < fault.least_brokers:
            raise ConfigError(
                f"{fault.name} takes {fault.least_clients} clients and {fault.least_brokers} brokers at least"
            )
        fitting = [shape for shape in common if _fits(shape, fault)]
        shape = min(fitting, key=lambda one: len(found[one])) if fitting else _needed(common[0], fault)
        found.setdefault(shape, []).append(fault)
    return found


# Until it is told: SLOW_CONSUMER after 300 or 450 s, since a batch may take minutes; what may be a deploy after 600 s.
LASTS_LONGER_S = {"stuck_code": 480, "mixed_strategies": 720}


def disruption_of(fault: Fault) -> Disruption:
    return Disruption(fault.name, fault.inject, LASTS_LONGER_S.get(fault.name, LASTS_S))


def _join(group: SimulatedGroup) -> Callable[[], object]:
    """It leaves when the world is brought back to how it was."""
    group.start()
    return lambda: None


def _everyday(shape: Shape) -> tuple[Disruption, ...]:
    """By configuration nobody can join: there is no list for it."""
    return () if shape.strategy == "CONFIG" else (JOIN_AND_LEAVE,)


JOIN_AND_LEAVE = Disruption(JOIN, _join, lasts_s=120, afterwards_s=120)


def _shapes(spec: FleetSpec) -> list[Shape]:
    each = max(1, spec.queues // spec.brokers)
    return [
        Shape(spec.clients, spec.brokers, each, strategy, False, version, rate) for strategy, version, rate in DISTINCT
    ]


def _fits(shape: Shape, fault: Fault) -> bool:
    return all(getattr(shape, name) == value for name, value in fault.needs.items())


def _needed(shape: Shape, fault: Fault) -> Shape:
    return replace(shape, **fault.needs)  # type: ignore[arg-type]
