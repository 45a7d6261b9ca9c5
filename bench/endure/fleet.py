"""The generated fleet of the fast part, in a process of its own, which sends rounds to Kafka as they are wanted."""

import signal
from collections.abc import Iterator
from itertools import islice
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench.child import Child
from bench.slower_rounds import slower
from streaming.feed.console_producer import ConsoleProducer
from streaming.simulation.load.fleet_spec import FleetSpec, faults_named, templates_for
from streaming.simulation.load.generated_fleet import generated_fleet
from streaming.simulation.load.generated_group import GroupRound

CHURN = 0.02  # of the rounds of a healthy group, in which a client joins: it is one in ten of the group's minutes
FAULTY = 0.05


class FleetPlan(NamedTuple):
    """The fleet and where its rounds go. The same plan gives the same rounds."""

    groups: int
    round_s: float
    start_ts: int
    kafka: str
    topic: str


class Fleet(Child):
    """The process. ``skip`` passes over rounds that an earlier life has sent; ``send`` returns the time of the last."""

    def __init__(self, plan: FleetPlan) -> None:
        super().__init__(_serve, plan)

    def skip(self, rounds: int) -> int:
        return self._ask("skip", rounds)

    def send(self, rounds: int) -> int:
        return self._ask("send", rounds)

    def _ask(self, what: str, rounds: int) -> int:
        self._ours.send((what, rounds))
        ts: int = self._ours.recv()
        return ts


def _serve(pipe: Connection, plan: FleetPlan) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; this one ends with its pipe
    rounds = _rounds(plan)
    with ConsoleProducer(plan.kafka, plan.topic, "lz4") as producer:
        while True:
            try:
                what, number = pipe.recv()
            except EOFError:
                return
            ts = plan.start_ts
            for one in islice(rounds, number):
                ts = one.ts
                if what == "send":
                    producer.send(one)
            producer.flush()
            pipe.send(ts)


def _rounds(plan: FleetPlan) -> Iterator[GroupRound]:
    spec = FleetSpec(plan.groups, churn=CHURN, faults=faults_named(["all"]), faulty=FAULTY)
    templates = [slower(template, plan.round_s) for template in templates_for(spec)]
    fleet = generated_fleet(spec, templates, plan.start_ts)
    fleet.open()
    return fleet.rounds
