"""A standalone cluster on this machine's loopback: the operator's tasks run on every worker."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.core.default_settings import DEFAULT_SETTINGS
from testing.spark_cluster import SparkCluster
from tests.spark.pipeline import Pipeline, fleet, folded, lines_of

pytestmark = [pytest.mark.spark, pytest.mark.slow("a job of its own"), pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
DRIVE = """
import json, sys
from streaming.config.sections import Source
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.spark.job import Plan, run_to_end
from streaming.spark.session import build_session

master, folder = sys.argv[1:]
spark = build_session(settings={
    "spark.master": master, "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
})
source = Source(kind="files", folder=folder + "/events")
plan = Plan(source, folder + "/checkpoint", folder + "/tables", DEFAULT_SETTINGS, 4, 1, 15)
run_to_end(spark, plan)
jvm = spark._jvm
store = spark._jsc.sc().statusStore()
quantiles = spark.sparkContext._gateway.new_array(jvm.double, 0)
stages = store.stageList(None, False, False, quantiles, jvm.java.util.ArrayList())
executors = {}
for stage in (stages.apply(number) for number in range(stages.size())):
    tasks = store.taskList(stage.stageId(), stage.attemptId(), 100)
    for task in (tasks.apply(number) for number in range(tasks.size())):
        executors.setdefault(stage.stageId(), []).append(task.executorId())
print(json.dumps({"stages": executors}))
spark.stop()
"""


@pytest.mark.deep("a Spark cluster of its own")
def test_both_workers_fold_shards(tmp_path):
    events = [event for name in "ghijkl" for event in fleet(name).events]
    pipeline = Pipeline(None, tmp_path)
    pipeline.drop(lines_of(events))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with SparkCluster(tmp_path / "cluster") as cluster:
        for name in ("one", "two"):
            cluster.add_worker(name)
        done = subprocess.run(
            [sys.executable, "-c", DRIVE, cluster.master, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert pipeline.facts() == folded((events, DEFAULT_SETTINGS))
    assert len(list((tmp_path / "checkpoint" / "state" / "0").glob("[01]/1.*"))) == 2
    stages = json.loads(done.stdout)["stages"].values()
    assert any(sorted(executors) == ["0", "1"] for executors in stages)
