"""The job on a standalone Spark cluster, one master and two workers on loopback: the work of driver and executors.

Every trigger reads about one round of every group, so its time is the shortest round interval of such a fleet.
``python -m bench.cluster GROUPS...`` measures other numbers of groups than the stage. Broker and driver use the same
cores as the executors.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from bench.environment import ALL_PROGRESS, Environment, Running, Trigger, tell
from bench.feeder import Batch, Feeder, send_files
from bench.results import Results, say
from bench.tables import state_bytes
from streaming.loopback import LoopbackKafka
from streaming.simulation.load.fleet_spec import FleetSpec
from streaming.spark.facts import FactsTable
from streaming.spark.session import build_session
from streaming.wall_clock import now_ms
from testing.spark_cluster import SparkCluster, Worker
from testing.spark_events import events, executors_with_state, log_settings

GROUPS = (1_000, 10_000)  # 100,000 take a quarter of an hour: python -m bench.cluster 100000
WORKERS, CORES_OF_A_WORKER = 2, 1
EXECUTOR_MEMORY, WORKER_MEMORY = "2g", "2500m"
COUNTED = 5
INTRODUCED_A_TRIGGER = 5_000  # groups; each is one record of about 50 KB
BEHIND_MS = 3 * 3_600_000

Cpu = dict[str, float]


@dataclass(frozen=True, slots=True)
class Bench:
    """The environment of all measurements. ``appends``: seconds of each append to the table of facts."""

    here: Environment
    workers: Sequence[Worker]
    spark_log: Path
    appends: list[float]

    def cpu(self) -> Cpu:
        """CPU seconds of the driver's and the executors' Java and Python since their start."""
        driver = psutil.Process()
        java = [child for child in driver.children() if child.pid not in self.here.others]
        executors = [psutil.Process(pid) for worker in self.workers for pid in worker.pids()]
        return {
            "driver_python": _seconds([driver]),
            "driver_java": _seconds(java),
            "executors_java": _seconds(process for process in executors if process.name() == "java"),
            "executors_python": _seconds_with_ended(process for process in executors if process.name() != "java"),
        }

    def executors_mb(self) -> float:
        """The resident memory of all workers with their executors and Python."""
        return sum(psutil.Process(pid).memory_info().rss for worker in self.workers for pid in worker.pids()) / 2**20


def measure(results: Results, _quick: bool) -> None:
    with results.part("cluster"):
        run(GROUPS, results.put)


def run(sizes: Iterable[int], put: Callable[[str, object], None]) -> None:
    with _bench() as bench:
        for groups in sizes:
            put(f"cluster.groups_{groups}", _figures(bench, groups))


@contextmanager
def _bench() -> Iterator[Bench]:
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        SparkCluster(Path(name, "cluster")) as cluster,
        LoopbackKafka() as kafka,
    ):
        workers = [cluster.add_worker(f"worker-{n}", CORES_OF_A_WORKER, WORKER_MEMORY) for n in range(WORKERS)]
        others = {process.pid for process in psutil.Process().children()}
        log = Path(name, "spark-events")
        log.mkdir()
        settings = {"spark.master": cluster.master, "spark.executor.memory": EXECUTOR_MEMORY, **log_settings(log)}
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings["spark.sql.shuffle.partitions"] = str(WORKERS * CORES_OF_A_WORKER)
        spark = build_session("evenkeel-bench", settings | ALL_PROGRESS)
        try:
            with _timed_appends() as appends:
                yield Bench(Environment(Path(name), kafka, spark, others), workers, log, appends)
        finally:
            spark.stop()


@contextmanager
def _timed_appends() -> Iterator[list[float]]:
    append, seconds = FactsTable.append, list[float]()

    def timed(*arguments: Any, **keys: Any) -> None:
        began = time.perf_counter()
        append(*arguments, **keys)
        seconds.append(time.perf_counter() - began)

    FactsTable.append = timed  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        FactsTable.append = append  # type: ignore[method-assign]


def _figures(bench: Bench, groups: int) -> dict[str, Any]:
    here, topic = bench.here, f"groups-{groups}"
    start_ts = now_ms() - BEHIND_MS
    here.create_topic(topic)
    with Feeder(FleetSpec(groups), here.folder, start_ts) as feeder:
        here.others.add(feeder.pid)
        introduced_s, _ = _read(bench, topic, [feeder.introduce(groups)], INTRODUCED_A_TRIGGER)
        warming, rounds = _rounds(feeder, groups)
    _read(bench, topic, [warming], groups)
    before, appended = bench.cpu(), len(bench.appends)
    since_ms = now_ms()
    _, triggers = _read(bench, topic, rounds, groups)
    spent = {name: seconds - before[name] for name, seconds in bench.cpu().items()}
    full = [trigger for trigger in triggers if trigger.records > groups * 0.9]
    read = sum(trigger.records for trigger in triggers) / groups
    return {
        "introduced_s": round(introduced_s),
        **_of_triggers(full),
        "append_s_p50": round(median(bench.appends[appended:] or [0.0]), 2),
        **_of_cpu(spent, read),
        "state_mb": round(state_bytes(here.spark, here.folder / topic / "checkpoint") / 1e6, 1),
        "executors_with_state": len(executors_with_state(bench.spark_log, since_ms)),
        "executors_rss_mb": round(bench.executors_mb()),
        "tasks_a_trigger": round(_tasks_since(bench.spark_log, since_ms) / len(triggers)),
    }


def _rounds(feeder: Feeder, groups: int) -> tuple[Batch, list[Batch]]:
    """The rounds: some for warming, then about ``COUNTED`` rounds of each group."""
    warming = feeder.backlog(groups)
    events = round(groups * warming.events / warming.rounds)
    return warming, [feeder.backlog(events) for _ in range(COUNTED)]


def _read(bench: Bench, topic: str, batches: Sequence[Batch], a_trigger: int) -> tuple[float, list[Trigger]]:
    """Let the job read all batches. Return the seconds from its start to its end, and its triggers."""
    here = bench.here
    records = sum(batch.records for batch in batches)
    send_files([batch.path for batch in batches], here.kafka.bootstrap_servers, topic)
    for batch in batches:
        batch.path.unlink()
    began = time.monotonic()
    with Running(here, here.plan(topic, source__max_offsets_per_trigger=a_trigger)) as job:
        job.wait_for(records)
    took_s = time.monotonic() - began
    tell(f"{topic}, {records} records", job.triggers)
    return took_s, job.triggers


def _of_triggers(triggers: Sequence[Trigger]) -> dict[str, Any]:
    steps = sorted({name for trigger in triggers for name in trigger.steps_ms})
    return {
        "triggers": len(triggers),
        "records_a_trigger": round(median(trigger.records for trigger in triggers)),
        "trigger_s_p50": round(median(trigger.seconds for trigger in triggers), 2),
        "trigger_s_max": round(max(trigger.seconds for trigger in triggers), 2),
        "steps_ms_p50": {name: round(median(t.steps_ms.get(name, 0) for t in triggers)) for name in steps},
    }


def _of_cpu(spent: Cpu, rounds: float) -> dict[str, Any]:
    """The CPU seconds for a round of all groups, with the start of the query."""
    driver = spent["driver_java"] + spent["driver_python"]
    return {
        "cpu_s_a_round": {name: round(seconds / rounds, 2) for name, seconds in spent.items()},
        "driver_share_of_cpu": round(driver / sum(spent.values()), 2),
    }


def _tasks_since(log: Path, since_ms: int) -> int:
    tasks = (event["Task Info"] for event in events(log, "SparkListenerTaskEnd"))
    return sum(task["Launch Time"] >= since_ms for task in tasks)


def _seconds(processes: Iterable[psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes]
    return sum(one.user + one.system for one in times)


def _seconds_with_ended(processes: Iterable[psutil.Process]) -> float:
    """The CPU seconds of processes and of their ended children: Python's workers start and end."""
    times = [process.cpu_times() for process in processes]
    return sum(one.user + one.system + one.children_user + one.children_system for one in times)


def main() -> None:
    found: dict[str, Any] = {}

    def put(key: str, value: object) -> None:
        found[key] = value
        say(json.dumps({key: value}))

    run(map(int, sys.argv[1:] or map(str, GROUPS)), put)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
