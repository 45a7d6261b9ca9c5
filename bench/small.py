"""1,000 groups: the cost of a group, catching up, and both with the group as the operator's key."""

from bench.environment import Environment, environment
from bench.feeder import Feeder
from bench.keyed import catch_up_keyed_by_group
from bench.plain import PlainLoop
from bench.results import SKIPPED, Results
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
        rounds_per_s = _catch_up(results, here, effort)
        if not effort.keyed_triggers:
            results.put("catch_up.key_is_group_over_shard", SKIPPED)
            return
        plan = here.plan(TOPIC, "keyed-by-group", source__max_offsets_per_trigger=effort.a_trigger)
        keyed = catch_up_keyed_by_group(here, plan, effort.keyed_triggers)
        keyed_rounds_per_s = sum(t.records for t in keyed) / sum(t.seconds for t in keyed)
        results.put("catch_up.key_is_group_over_shard", round(keyed_rounds_per_s / rounds_per_s, 3))


def _catch_up(results: Results, here: Environment, effort: Effort) -> float:
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
    return caught.rounds_per_s
