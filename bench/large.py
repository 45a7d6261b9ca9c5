"""10,000 groups: catching up, what twice the groups cost, and a steady stream of 17,000 events a second."""

import time
from dataclasses import replace

from bench.environment import Running, Trigger, environment, tell
from bench.feeder import Feeder
from bench.plain import PlainLoop
from bench.results import Results
from bench.throughput import BEHIND_MS, FULL, CatchUp, Effort
from streaming.simulation.load.fleet_spec import FleetSpec

GROUPS = 10_000
TOPIC = "groups-10000"
STEADY_TRIGGER_S = 5
CLIENTS = FleetSpec(GROUPS).clients
SETTLING_S = 15  # not counted


def measure(results: Results, _quick: bool) -> None:
    spec = FleetSpec(GROUPS)
    start_ts = time.time_ns() // 1_000_000 - BEHIND_MS
    with (
        results.part("job.groups_10000", "job.cost_at_twice_the_groups", "job.steady_busy_ratio"),
        environment() as here,
        Feeder(spec, here.folder, start_ts) as feeder,
        PlainLoop() as plain,
    ):
        here.others.update((feeder.pid, plain.pid))
        work = CatchUp(here, feeder, plain, TOPIC)
        _grow(results, work, replace(FULL, warming=1))  # to make the groups known has warmed it
        with results.part("job.steady_busy_ratio"):
            _steady(results, work, 60)


def _grow(results: Results, work: CatchUp, effort: Effort) -> None:
    """Half of the groups with half of the events a trigger, then all: the same number of events a group."""
    work.preload(GROUPS // 2)
    half = work.catch_up(replace(effort, a_trigger=effort.a_trigger // 2))
    work.plain_events_per_s(half.batches, effort.plain_batches)
    work.preload(GROUPS)
    full = work.catch_up(effort)
    loop = work.plain_events_per_s(full.batches, effort.plain_batches)
    results.put("job.groups_10000", work.figures(full, loop, GROUPS * CLIENTS))
    results.put("job.cost_at_twice_the_groups", round(full.trigger_s / half.trigger_s, 2))


def _steady(results: Results, work: CatchUp, seconds: float) -> None:
    """The share of the time that the job works, once it has settled, while events come as they are made."""
    here = work.environment
    plan = here.plan(TOPIC, job__trigger_seconds=STEADY_TRIGGER_S)
    with Running(here, plan) as job:
        before = len(here.watch.triggers)
        work.feeder.begin_live(SETTLING_S + seconds, here.kafka.bootstrap_servers, TOPIC)
        began = time.time() + SETTLING_S
        sent = work.feeder.end_live()
        job.check()
    triggers = here.watch.triggers[before:]  # the one at work when time was up among them
    tell("steady", triggers)
    results.put("job.steady_busy_ratio", round(_busy_s(triggers, began, began + seconds) / seconds, 2))
    results.put(
        "job.steady",
        {
            "events_per_s_sent": round(sent.events / sent.seconds),
            "events_per_s_read": round(_read(triggers, began, began + seconds) / seconds),
            "trigger_every_s": STEADY_TRIGGER_S,
            "trigger_s_max": round(max(t.seconds for t in triggers if t.ended > began), 2),
            "seconds": seconds,
        },
    )


def _busy_s(triggers: list[Trigger], began: float, ended: float) -> float:
    """Seconds between two moments in which a trigger was at work."""
    return sum(max(0.0, min(t.ended, ended) - max(t.ended - t.seconds, began)) for t in triggers)


def _read(triggers: list[Trigger], began: float, ended: float) -> float:
    return sum(t.records for t in triggers if began < t.ended <= ended)
