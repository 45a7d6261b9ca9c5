"""The perturbations of a run: drawn by its seed, at the rates given here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from bench.proof.detector import Detector
from bench.proof.perturbations import brokers, clients, collectors, name_servers, starts_and_stops
from bench.proof.perturbations.context import PerturbationContext
from bench.proof.results import KnownFinding
from streaming.simulation.simulated_group import MOST_CLIENTS, Shape, SimulatedGroup

MORE_THAN_ONE = (0.6, 0.3, 0.1)  # how many runs have one, two, three


@dataclass(frozen=True)
class Perturbation:
    """A perturbation. ``weight``: how often it is drawn, relative to others. ``family``: a run has one of each at most.

    ``share``: it is not drawn with the others, but added in this share of the runs, by its own random numbers. So runs
    without it are the same as before this perturbation existed.
    """

    begin: Callable[[PerturbationContext], None]
    family: str
    weight: int = 2
    when_healthy: bool = True
    in_incidents: bool = True
    least_brokers: int = 1
    most_clients: int = MOST_CLIENTS
    may_be_listed: bool = True  # also where each client's queues are written down (CONFIG)
    share: float = 0.0
    starts_clients: bool = False  # as all are configured: they consume what others do not
    comes_alone: bool = False  # with no other

    @property
    def name(self) -> str:
        return self.begin.__name__


STARTS_CLIENTS = {"may_be_listed": False, "starts_clients": True}
PERTURBATIONS = (
    Perturbation(name_servers.lagging_name_server, "name servers"),
    Perturbation(name_servers.alternating_name_servers, "name servers"),
    Perturbation(brokers.list_lacks_someone, "lists", least_brokers=2),
    Perturbation(brokers.list_times_out, "lists"),
    Perturbation(starts_and_stops.slow_deploy, "deploy", 3, most_clients=12, **STARTS_CLIENTS),
    Perturbation(clients.mute_sdk, "sdk"),
    Perturbation(clients.foreign_sdk, "sdk"),
    Perturbation(clients.pull_consumers, "sdk"),
    Perturbation(brokers.old_brokers, "brokers"),
    Perturbation(collectors.second_collector, "collectors"),
    Perturbation(collectors.collector_restarted, "collectors"),
    Perturbation(collectors.events_lost, "events"),
    Perturbation(collectors.event_lost_every_20s, "events"),
    Perturbation(collectors.events_reordered, "events"),
    Perturbation(collectors.clock_set_back, "clock"),
    Perturbation(clients.batches, "work", in_incidents=False),
    Perturbation(starts_and_stops.crash_loop, "crash loop", 3, when_healthy=False, **STARTS_CLIENTS),
    Perturbation(starts_and_stops.shut_down_together, "together", **STARTS_CLIENTS),
    Perturbation(clients.batches_of_silent_clients, "work", 0, in_incidents=False, share=0.1),
    Perturbation(brokers.maintenance, "settings", 0, in_incidents=False, share=0.1),
    Perturbation(clients.filters_in_another_order, "filters", 0, in_incidents=False, share=0.1),
    Perturbation(
        clients.half_open_after_a_change, "connections", 0, in_incidents=False, may_be_listed=False, share=0.1
    ),
    Perturbation(
        starts_and_stops.runs_now_and_then, "runs", 0, most_clients=40, share=0.05, comes_alone=True, **STARTS_CLIENTS
    ),
)


def draw(seed: str, shape: Shape, is_healthy: bool) -> list[Perturbation]:
    """Draw one to three perturbations, and those with a ``share``."""
    random = Random(f"{seed}/perturbations")
    fitting = [
        one
        for one in PERTURBATIONS
        if (one.when_healthy if is_healthy else one.in_incidents)
        and shape.brokers >= one.least_brokers
        and (one.may_be_listed or shape.strategy != "CONFIG")
    ]
    drawn: list[Perturbation] = []
    for _ in range(random.choices((1, 2, 3), MORE_THAN_ONE)[0]):
        families = {one.family for one in drawn}
        left = [one for one in fitting if one.family not in families]
        drawn += random.choices(left, [one.weight for one in left])
    drawn += [one for one in fitting if Random(f"{seed}/{one.name}/drawn").random() < one.share]
    return [one for one in drawn if one.comes_alone] or drawn


def fit(shape: Shape, drawn: list[Perturbation]) -> Shape:
    """The shape, with at most as many clients as the perturbations allow."""
    return replace(shape, clients=min([shape.clients, *(one.most_clients for one in drawn)]))


def begin(
    seed: str, drawn: list[Perturbation], group: SimulatedGroup, detector: Detector, is_healthy: bool
) -> list[KnownFinding]:
    """Begin them before the group's first client starts. Returns the findings that are true because of them."""
    known_findings: list[KnownFinding] = []
    for one in drawn:
        random = Random(f"{seed}/{one.name}")
        context = PerturbationContext(group.fleet.clock, detector, random, group, is_healthy, known_findings)
        one.begin(context)
    return known_findings
