"""One incident: a random group, a fault or two in it, everyday life around them, and what the detector made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from bench.proof.detector import Detector
from bench.proof.groups import RemotingGroup
from bench.proof.judge import judge_run
from bench.proof.more_faults import ANY_FAULT_NAMED
from bench.proof.perturbations.catalog import begin, draw, fit
from bench.proof.results import ActiveFault, Run
from schemas.events import AnyEvent
from streaming.core.settings import Settings
from streaming.simulation.faults import FAULTS, Fault
from streaming.simulation.simulated_group import Shape, random_shape

AFTERWARDS_S = 150
SHORT_S = (5, 120)  # how long a short fault lasts
LASTING_S = (640, 840)  # how long the others last with perturbations
IS_SHORT, IS_DOUBLE, HAS_CHURN, LOSES_REPORTS = 0.2, 0.25, 0.3, 0.2


def play_numbered(seed: str, number: int, settings: Settings, is_perturbed: bool = False) -> Run:
    """The faults take turns, so that each comes up as often. With perturbations there are more of them."""
    faults = tuple(ANY_FAULT_NAMED.values()) if is_perturbed else FAULTS
    return play_incident(f"{seed}/{number}", faults[number % len(faults)], settings, is_perturbed=is_perturbed)


def play_incident(
    seed: str,
    fault: Fault,
    settings: Settings,
    group_name: str = "G",
    keep: Callable[[AnyEvent], object] = lambda _: None,
    is_perturbed: bool = False,
) -> Run:
    """``keep`` is given every event."""
    random = Random(f"{seed}/incident")
    shape = shape_for(fault, random)
    faults = [fault]
    if random.random() < IS_DOUBLE and not fault.excludes_others:
        others = [other for other in FAULTS if other is not fault and _fits(other, shape)]
        faults += random.sample([other for other in others if not (fault.changes_topic and other.changes_topic)], 1)
    drawn = draw(seed, shape, is_healthy=False) if is_perturbed else []
    drawn = [one for one in drawn if not (fault.consumes_nothing and one.starts_clients)]
    shape = fit(shape, drawn)
    group = RemotingGroup(shape, seed, group_name)
    loses = 0.03 if random.random() < LOSES_REPORTS else 0.0
    detector = Detector(group.fleet, settings, keep, loses)
    known_findings = begin(seed, drawn, group, detector, is_healthy=False)
    group.warm_up()
    active = [_inject(group, one, random, is_perturbed) for one in faults]
    if random.random() < HAS_CHURN and shape.strategy != "CONFIG":
        group.fleet.clock.after(random.randrange(60_000), _churn, group)
    group.fleet.run(max(one.to_ts for one in active) / 1000 - group.fleet.now / 1000 + AFTERWARDS_S)
    names = tuple(one.name for one in faults)
    return judge_run(seed, group, detector, settings.timing, names, active, drawn, known_findings)


def shape_for(fault: Fault, random: Random) -> Shape:
    shape = random_shape(random, **fault.needs)
    return replace(
        shape,
        clients=max(shape.clients, fault.least_clients),
        brokers=max(shape.brokers, fault.least_brokers),
        queues=max(shape.queues, 2),
    )


def _fits(fault: Fault, shape: Shape) -> bool:
    has_room = shape.clients >= fault.least_clients and shape.brokers >= fault.least_brokers
    return not fault.excludes_others and has_room and fault.fits(shape)


def _inject(group: RemotingGroup, fault: Fault, random: Random, is_perturbed: bool) -> ActiveFault:
    """At once, or shortly after what came before it."""
    long_s = LASTING_S if is_perturbed else fault.lasts_s
    group.fleet.run(random.randrange(1, 40))
    while not group.clients:  # the fault before, or a deploy, is starting all of them again
        group.fleet.run(1)
    lasts_s = random.randrange(*(SHORT_S if random.random() < IS_SHORT else long_s))
    from_ts = group.fleet.now
    undo = fault.inject(group)
    to_ts = from_ts + lasts_s * 1000
    group.fleet.clock.at(to_ts, undo)
    return ActiveFault(fault, from_ts, to_ts)


def _churn(group: RemotingGroup) -> None:
    """Somebody comes or goes meanwhile."""
    if len(group.clients) > 2 and group.random.random() < 0.5:
        group.fleet.leave(group.pick())
    elif group.clients:
        group.start()
