"""The perturbations of a run: drawn by its seed, at the rates given here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.evaluation.perturbations import (
    batch_consumers,
    client_sdks,
    collectors,
    connections,
    event_delivery,
    group_settings,
    member_lists,
    name_servers,
    scheduled_runs,
    subscription_order,
)
from streaming.simulation.evaluation.perturbations import deploys_and_crashes as deploys
from streaming.simulation.evaluation.perturbations.context import PerturbationContext
from streaming.simulation.evaluation.results import KnownFinding
from streaming.simulation.simulated_group import MOST_CLIENTS, Shape, SimulatedGroup

MORE_THAN_ONE = (0.6, 0.3, 0.1)  # how many runs have one, two, three


@dataclass(frozen=True)
class Perturbation:
    """A perturbation. ``weight``: how often it is drawn, relative to others. ``family``: a run has one of each at most.

    ``share``: it is not drawn with the others, but added in this share of the runs, by its own random numbers. So runs
    without it are the same as before this perturbation existed.
    """

    name: str
    family: str
    begin: Callable[[PerturbationContext], None]
    weight: int = 2
    when_healthy: bool = True
    in_incidents: bool = True
    least_brokers: int = 1
    most_clients: int = MOST_CLIENTS
    may_be_listed: bool = True  # also where each client's queues are written down (CONFIG)
    share: float = 0.0
    starts_clients: bool = False  # as all are configured: they consume what others do not
    comes_alone: bool = False  # with no other


PERTURBATIONS = (
    Perturbation("lagging_name_server", "name servers", name_servers.lagging),
    Perturbation("alternating_name_servers", "name servers", name_servers.alternating),
    Perturbation("list_lacks_someone", "lists", member_lists.lack_someone, least_brokers=2),
    Perturbation("list_times_out", "lists", member_lists.time_out),
    Perturbation(
        "slow_deploy", "deploy", deploys.slow_deploy, 3, may_be_listed=False, most_clients=12, starts_clients=True
    ),
    Perturbation("mute_sdk", "sdk", client_sdks.mute),
    Perturbation("foreign_sdk", "sdk", client_sdks.foreign),
    Perturbation("pull_consumers", "sdk", client_sdks.pull_consumers),
    Perturbation("old_brokers", "brokers", client_sdks.old_brokers),
    Perturbation("second_collector", "collectors", collectors.second),
    Perturbation("collector_restarted", "collectors", collectors.restarted),
    Perturbation("events_lost", "events", event_delivery.some_lost),
    Perturbation("event_lost_every_20s", "events", event_delivery.one_lost_every_20s),
    Perturbation("events_reordered", "events", event_delivery.reordered),
    Perturbation("clock_set_back", "clock", event_delivery.clock_set_back),
    Perturbation("batches", "work", batch_consumers.batches, in_incidents=False),
    Perturbation(
        "crash_loop", "crash loop", deploys.crash_loop, 3, when_healthy=False, may_be_listed=False, starts_clients=True
    ),
    Perturbation(
        "shut_down_together", "together", deploys.shut_down_together, may_be_listed=False, starts_clients=True
    ),
    Perturbation(
        "batches_of_silent_clients",
        "work",
        batch_consumers.batches_of_silent_clients,
        0,
        in_incidents=False,
        share=0.1,
    ),
    Perturbation("maintenance", "settings", group_settings.maintenance, 0, in_incidents=False, share=0.1),
    Perturbation(
        "filters_in_another_order", "filters", subscription_order.another_order, 0, in_incidents=False, share=0.1
    ),
    Perturbation(
        "half_open_after_a_change",
        "connections",
        connections.half_open_after_a_change,
        0,
        in_incidents=False,
        may_be_listed=False,
        share=0.1,
    ),
    Perturbation(
        "runs_now_and_then",
        "runs",
        scheduled_runs.runs_now_and_then,
        0,
        most_clients=40,
        may_be_listed=False,
        share=0.05,
        comes_alone=True,
        starts_clients=True,
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
        context = PerturbationContext(group, detector, Random(f"{seed}/{one.name}"), is_healthy, known_findings)
        one.begin(context)
    return known_findings
