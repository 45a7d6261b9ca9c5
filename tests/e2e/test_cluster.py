"""Spark's own cluster of two workers: a worker is killed and replaced, and the driver is killed beside a standby.

The facts are those of the core over the same records: nothing is lost and nothing comes twice.
"""

import json
import time
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import pytest

from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.loopback import LoopbackKafka
from streaming.simulation.load.fleet_spec import FleetSpec, templates_for
from streaming.simulation.load.generated_fleet import generated_fleet
from streaming.wall_clock import now_ms
from testing import tables
from testing.job import ROOT
from testing.spark_cluster import SPARK_SUBMIT, SparkCluster, Worker, spark_environment
from testing.spark_events import executors_with_state, log_settings
from testing.workload import Feeder, Sent, end_offsets, folded
from tests.e2e.conftest import MakeJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(900),
]

FLEET = FleetSpec(groups=120, clients=6, queues=8, churn=0.02)
SHARDS = 4
ROUNDS = 30
SECONDS = 900  # for all records, unless they are hurried
BATCHES_BETWEEN = 2


def test_a_killed_worker_is_replaced_and_nothing_is_lost_or_doubled(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob, tmp_path: Path
) -> None:
    records = list(generated(now_ms() - 3_600_000))
    job = make_job()
    job.values["spark.settings"].clear()  # those are of a job on this machine
    job.configure({"spark": {"master": ""}, "job": {"shards": SHARDS, "trigger_seconds": 1}})
    log = tmp_path / "spark-events"
    log.mkdir()

    def wait_for_state_on(*workers: Worker) -> None:
        """Until executors of exactly these workers commit state, in tasks that begin from now on."""
        since_ms, done = now_ms(), job.batches().done + BATCHES_BETWEEN
        wanted = set[str].union(*(worker.executors for worker in workers))
        job.wait_until(lambda: job.batches().done >= done, f"batch {done} was done")
        job.wait_until(lambda: executors_with_state(log, since_ms) == wanted, f"executors {wanted} had the state")

    with SparkCluster(tmp_path / "cluster") as cluster, Feeder(kafka, topic, records, SECONDS) as feeder:
        first, second = cluster.add_worker("first"), cluster.add_worker("second")
        job.start(submitted_to(cluster, log), spark_environment())
        job.wait_until(lambda: job.batches().done >= 0, "the first batch was done")
        wait_for_state_on(first, second)
        job.wait_until(lambda: job.batches().pending is not None, "a batch was at work")
        first.kill()
        wait_for_state_on(second)
        third = cluster.add_worker("third")
        job.wait_until(lambda: bool(third.executors), "the new worker had an executor")
        wait_for_state_on(second, third)
        feeder.send_the_rest()
        job.catch_up(end_offsets(kafka, topic))
        job.stop()  # of Java, which spark-submit is: its status is that of the signal

    identity = json.loads((job.checkpoint / "evenkeel" / "identity.json").read_text())
    assert identity["state_partitions"] == SHARDS  # though no executor had registered when the job chose it
    assert tables.as_facts(job.tables) == folded((records, DEFAULT_SETTINGS))


def test_a_standby_takes_over_from_a_killed_driver_on_the_same_workers(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob, tmp_path: Path
) -> None:
    """The standby's driver is prepared. Its executors start when Spark's master gives it those of the killed one."""
    records = list(generated(now_ms() - 3_600_000))
    first, second = make_job("first"), make_job("second")
    second.tables, second.checkpoint = first.tables, first.checkpoint
    for job in (first, second):
        job.values["spark.settings"].clear()
        job.configure({
            "spark": {"master": ""},
            "tables": {"path": str(first.tables)},
            "job": {"checkpoint": str(first.checkpoint), "shards": SHARDS, "trigger_seconds": 1},
        })  # fmt: skip
    log = tmp_path / "spark-events"
    log.mkdir()
    with SparkCluster(tmp_path / "cluster") as cluster, Feeder(kafka, topic, records, SECONDS) as feeder:
        cluster.add_worker("first")
        cluster.add_worker("second")
        first.start(submitted_to(cluster, log), spark_environment())
        first.wait_until(lambda: first.batches().done >= 1, "two batches were done")
        second.start(submitted_to(cluster, log), spark_environment(), ["--standby"])
        second.wait_until(lambda: "standby: Spark has started" in second.log, "the standby is prepared")
        first.wait_until(lambda: first.batches().pending is not None, "a batch was at work")
        done, began = first.batches().done, time.monotonic()
        first.kill()
        second.wait_until(lambda: second.batches().done > done, "the standby has ended a batch")
        print(f"the first batch of the standby ended {time.monotonic() - began:.1f} s after the driver was killed")
        feeder.send_the_rest()
        second.catch_up(end_offsets(kafka, topic))
        second.stop()
    assert tables.as_facts(first.tables) == folded((records, DEFAULT_SETTINGS))


def generated(start_ts: int) -> Iterator[Sent]:
    """Each group in as few events as make it known, then rounds in which clients join and leave."""
    fleet = generated_fleet(FLEET, templates_for(FLEET), start_ts)
    rounds = chain(fleet.introduce(FLEET.groups), islice(fleet.rounds, ROUNDS * FLEET.groups))
    return (Sent(key, value) for group_round in rounds for key, value in group_round.records())


def submitted_to(cluster: SparkCluster, log: Path) -> list[str]:
    """As ``docs/configuration.md`` says, in small."""
    said = {"spark.executor.memory": "512m", "spark.driver.memory": "1g", **log_settings(log)}
    options = [word for key, value in said.items() for word in ("--conf", f"{key}={value}")]
    options += ["--driver-java-options", "-Xss16m"]
    return [SPARK_SUBMIT, "--master", cluster.master, *options, str(ROOT / "streaming" / "__main__.py")]
