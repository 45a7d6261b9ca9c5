"""A standalone cluster on this machine's loopback: the operator's tasks run on every worker."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pyspark
import pytest

from streaming.core.settings import Settings
from streaming.jvm.java import java_home
from tests.spark.pipeline import Pipeline, fleet, folded, lines_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
DRIVE = """
import json, sys
from streaming.core.settings import Settings
from streaming.spark.job import Plan, run_to_end
from streaming.spark.session import build_session
from streaming.spark.sources import FileSource

master, folder = sys.argv[1:]
spark = build_session(settings={
    "spark.master": master, "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
})
plan = Plan(FileSource(folder + "/events"), folder + "/checkpoint", folder + "/tables", Settings(), shards=4)
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


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def spark_process(log, *arguments):
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [SPARK_CLASS, *arguments], env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


@contextmanager
def cluster(folder):
    """A master and two workers of one core each; yields the master's address."""
    port, web = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    where = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(web))
    with spark_process(folder / "master.log", "org.apache.spark.deploy.master.Master", *where):
        answers(web)
        worker = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "600m")
        one, two = (("--webui-port", str(free_port()), "--work-dir", str(folder / name)) for name in ("w1", "w2"))
        with (
            spark_process(folder / "w1.log", *worker, *one, master),
            spark_process(folder / "w2.log", *worker, *two, master),
        ):
            deadline = time.monotonic() + 90
            while answers(web)["aliveworkers"] < 2:
                assert time.monotonic() < deadline, (folder / "w2.log").read_text()
                time.sleep(0.3)
            yield master


def answers(web):
    deadline = time.monotonic() + 90
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{web}/json/", timeout=5) as page:
                return json.load(page)
        except OSError:
            assert time.monotonic() < deadline, "the master does not answer"
            time.sleep(0.3)


def test_both_workers_fold_shards(tmp_path):
    events = [event for name in "ghijkl" for event in fleet(name).events]
    pipeline = Pipeline(None, tmp_path)
    pipeline.drop(lines_of(events))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with cluster(tmp_path) as master:
        done = subprocess.run(
            [sys.executable, "-c", DRIVE, master, str(tmp_path)], env=environment, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    assert pipeline.facts() == folded((events, Settings()))
    assert len(list((tmp_path / "checkpoint" / "state" / "0").glob("[01]/1.*"))) == 2
    stages = json.loads(done.stdout)["stages"].values()
    assert any(sorted(executors) == ["0", "1"] for executors in stages)
