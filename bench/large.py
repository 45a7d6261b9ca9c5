"""10,000 groups: a trigger with one quiet round of each, the cost of twice the groups, and a steady stream."""

import time
from contextlib import ExitStack
from statistics import median

from bench.environment import Environment, Running, Trigger, environment, tell
from bench.feeder import Feeder
from bench.results import Results
from bench.throughput import BEHIND_MS, CatchUp, Caught
from streaming.simulation.load.fleet_spec import FleetSpec
from streaming.wall_clock import now_ms

GROUPS = 10_000
STEADY_TRIGGER_S = 5
SETTLING_S = 30  # these are not counted
WARMING = 120  # triggers that are not counted
TURNS = 3  # of each half: they alternate, so that Java is equally warm for both
TRIGGERS = 4  # in each turn


def measure(results: Results, _quick: bool) -> None:
    keys = ("idle_trigger_s.groups_10000", "cost_at_twice_the_groups", "steady.groups_10000")
    with results.part(*keys), environment() as here, ExitStack() as feeders:
        half, full = (_known(here, feeders, groups) for groups in (GROUPS // 2, GROUPS))
        halves, fulls = _in_turn(half, full)
        results.put("idle_trigger_s.groups_10000", round(_trigger_s(fulls), 2))
        results.put("cost_at_twice_the_groups", round(_trigger_s(fulls) / _trigger_s(halves), 2))
        results.put("steady.groups_10000", _steady(full, 60))


def _known(here: Environment, feeders: ExitStack, groups: int) -> CatchUp:
    """The work with a fleet whose groups the job knows. In one of 1,000 rounds a client joins a group."""
    start_ts = now_ms() - BEHIND_MS
    feeder = feeders.enter_context(Feeder(FleetSpec(groups), here.folder / f"{groups}", start_ts))
    here.others.add(feeder.pid)
    work = CatchUp(here, feeder, None, f"groups-{groups}")
    work.preload(groups)
    return work


def _in_turn(half: CatchUp, full: CatchUp) -> tuple[list[Caught], list[Caught]]:
    """The triggers with one round of each group, in alternating turns."""
    half.warm(WARMING, GROUPS // 8)
    halves, fulls = [], []
    for _ in range(TURNS):
        halves.append(half.catch_up(GROUPS // 2, TRIGGERS))
        fulls.append(full.catch_up(GROUPS, TRIGGERS))
    return halves, fulls


def _trigger_s(turns: list[Caught]) -> float:
    return median(seconds for caught in turns for seconds in caught.seconds)


def _steady(work: CatchUp, seconds: float) -> dict[str, float]:
    """The share of time in which the job works, once it has settled, while events come live."""
    here = work.environment
    plan = here.plan(work.topic, job__trigger_seconds=STEADY_TRIGGER_S)
    with Running(here, plan) as job:
        work.feeder.begin_live(SETTLING_S + seconds, here.kafka.bootstrap_servers, work.topic)
        began = time.time() + SETTLING_S
        sent = work.feeder.end_live()
        job.check()
    triggers = job.triggers  # with the trigger that ran when the time was over
    tell("steady", triggers)
    return {
        "busy_ratio": round(_busy_s(triggers, began, began + seconds) / seconds, 2),
        "rounds_per_s_sent": round(sent.rounds / sent.seconds),
        "rounds_per_s_read": round(_read(triggers, began, began + seconds) / seconds),
        "trigger_every_s": STEADY_TRIGGER_S,
        "trigger_s_max": round(max(t.seconds for t in triggers if t.ended > began), 2),
        "seconds": seconds,
    }


def _busy_s(triggers: list[Trigger], began: float, ended: float) -> float:
    """The seconds between two times in which a trigger ran."""
    return sum(max(0.0, min(t.ended, ended) - max(t.ended - t.seconds, began)) for t in triggers)


def _read(triggers: list[Trigger], began: float, ended: float) -> float:
    return sum(t.records for t in triggers if began < t.ended <= ended)
