"""The generated fleet of the fast part, in a process of its own, which sends rounds to Kafka as they are wanted."""

import signal
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench.child import Child
from streaming.feed.outputs import KafkaFeed
from streaming.simulation.load.fleet_spec import FleetSpec, faults_named, templates_for
from streaming.simulation.load.generated_fleet import generated_fleet
from streaming.simulation.load.generated_group import GroupRound

CLIENTS, QUEUES = 6, 16  # of each group
CHURN = 0.004  # of the rounds of a group at rest, in which a client joins, and leaves again: 11 times a day
FAULTY = 0.02  # of the groups, at a time: a fault of four minutes comes to each group seven times a day
LIVES_DAYS = 4.0  # of a group, on average: then its clients leave, and a group with a new name takes its place


class FleetPlan(NamedTuple):
    """The fleet and where its rounds go. The same plan gives the same rounds. ``round_s``: the collector's interval."""

    groups: int
    round_s: int
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
    with closing(KafkaFeed(plan.kafka, plan.topic, {})) as output:
        while True:
            try:
                what, number = pipe.recv()
            except EOFError:
                return
            ts = plan.start_ts
            for one in islice(rounds, number):
                ts = one.ts
                if what == "send":
                    output.send(one)
            pipe.send(ts)


def _rounds(plan: FleetPlan) -> Iterator[GroupRound]:
    spec = FleetSpec(
        plan.groups,
        CLIENTS,
        QUEUES,
        churn=CHURN,
        faults=faults_named(["all"]),
        faulty=FAULTY,
        lives_days=LIVES_DAYS,
        round_ms=1000 * plan.round_s,
    )
    fleet = generated_fleet(spec, templates_for(spec), plan.start_ts)
    fleet.open()
    return fleet.rounds
