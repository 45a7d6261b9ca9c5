"""1,000 groups: the cost of a group, and catching up."""

from bench.environment import Environment, environment
from bench.feeder import Feeder
from bench.plain import PlainLoop
from bench.results import Results
from bench.throughput import (
    BEHIND_MS,
    FULL,
    QUICK,
    CatchUp,
    Effort,
    cpu_ms_per_minute,
    kafka_bytes_per_minute,
)
from streaming.simulation.load.fleet_spec import FleetSpec
from streaming.wall_clock import now_ms

GROUPS = 1_000
TOPIC = "groups-1000"


def measure(results: Results, quick: bool) -> None:
    effort = QUICK if quick else FULL
    with results.part("group", "catch_up", "state_bytes_per_client"), environment() as here:
        _catch_up(results, here, effort)


def _catch_up(results: Results, here: Environment, effort: Effort) -> None:
    spec = FleetSpec(GROUPS)
    start_ts = now_ms() - BEHIND_MS
    with Feeder(spec, here.folder, start_ts) as feeder, PlainLoop() as plain:
        here.others.update((feeder.pid, plain.pid))
        work = CatchUp(here, feeder, plain, TOPIC)
        work.preload(GROUPS)
        warming = work.warm(effort.warming, effort.a_trigger // 4)
        caught = work.catch_up(effort.a_trigger, effort.triggers)
        loop = work.plain_rounds_per_s(warming, effort.plain_batches)
        results.put("catch_up", work.figures(caught, loop, GROUPS))
        results.put("group", {"cpu_ms_per_minute": cpu_ms_per_minute(caught), **kafka_bytes_per_minute(warming)})
        results.put("state_bytes_per_client", work.state_bytes_per_client(GROUPS * spec.clients))
