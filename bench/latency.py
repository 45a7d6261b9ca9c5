"""The time of a change from its arrival in Kafka to the committed row, with 1,000 groups and projections."""

import time
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread

from bench.environment import Environment, Running, environment, tell
from bench.feeder import Feeder
from bench.results import Results
from bench.tables import seconds_to_commit
from bench.throughput import CatchUp
from streaming.projections.process import keep_running, projection_settings
from streaming.simulation.load.fleet_spec import FleetSpec
from streaming.simulation.load.segment import ROUND_MS
from streaming.wall_clock import now_ms

GROUPS = 1_000
JOINS_A_SECOND = 1.5  # and as many leave
TOPIC = "latency"
PREPARING_MS = 30_000
WARMING = 60  # triggers before the live stream begins


def measure(results: Results, quick: bool) -> None:
    groups, settling_s, seconds = (200, 15, 30) if quick else (GROUPS, 60, 180)
    with results.part("latency"), environment() as here:
        spec = FleetSpec(groups, churn=JOINS_A_SECOND / groups * ROUND_MS / 1000)
        start_ts = now_ms() + PREPARING_MS
        with Feeder(spec, here.folder, start_ts) as feeder:
            here.others.add(feeder.pid)
            work = CatchUp(here, feeder, None, TOPIC)
            work.preload(groups)
            work.warm(WARMING, groups // 4)
            since_ms = _live(here, work, settling_s, seconds)
        results.put("latency", _figures(here, since_ms))


def _live(here: Environment, work: CatchUp, settling_s: float, seconds: float) -> float:
    """Run the job and the projections with the live stream. Return the time when counting began."""
    plan = here.plan(TOPIC)
    with Running(here, plan) as job:
        stop = Event()
        projections = Thread(target=keep_running, args=(projection_settings(here.config(TOPIC)), stop))
        projections.start()
        try:
            work.feeder.begin_live(settling_s + seconds, here.kafka.bootstrap_servers, TOPIC)
            since_ms = (time.time() + settling_s) * 1000
            sent = work.feeder.end_live()
            work.loaded += sent.rounds
            work.wait_for_all(job)
        finally:
            stop.set()
            projections.join()
    tell("latency, the job", job.triggers)
    return since_ms


def _figures(here: Environment, since_ms: float) -> dict[str, float]:
    plan = here.plan(TOPIC)
    kafka = {"kafka.bootstrap.servers": here.kafka.bootstrap_servers, "subscribe": TOPIC}
    found = seconds_to_commit(here.spark, Path(plan.tables, "facts"), kafka, since_ms)
    if len(found) < 20:
        raise RuntimeError(f"only {len(found)} changes reached the facts")
    hundredths = quantiles(found, n=100, method="inclusive")
    return {
        "p50_s": round(hundredths[49], 2),
        "p99_s": round(hundredths[98], 2),
        "max_s": round(max(found), 2),
        "changes": len(found),
        "trigger_every_s": plan.trigger_seconds,
    }
