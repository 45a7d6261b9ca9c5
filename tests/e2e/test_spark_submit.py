"""``spark-submit``: what the user says there counts, and the job does its work."""

import json
import sys
from pathlib import Path

import pytest

from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.jvm.java import java_home
from streaming.loopback import LoopbackKafka
from streaming.wall_clock import now_ms
from testing import tables
from testing.job import ROOT
from testing.spark_cluster import SPARK_SUBMIT
from testing.spark_events import effective_settings, log_settings
from testing.workload import end_offsets, folded, recorded, send
from tests.e2e.conftest import MakeJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(600),
]

SAID = {
    "spark.app.name": "named by its user",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.adaptive.enabled": "true",
    "spark.scheduler.mode": "FIFO",
    "spark.executor.heartbeatInterval": "11s",
}


def test_what_is_said_to_spark_submit_is_not_overridden(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob, tmp_path: Path
) -> None:
    records = recorded("e2e", now_ms(), names=("d_sameid",))
    send(kafka, topic, records)
    job = make_job(values={"spark": {"master": "local[2]"}, "spark.settings": {"spark.app.name": "of the file"}})
    log = tmp_path / "spark-events"
    log.mkdir()
    said = {**SAID, **log_settings(log)}
    options = [word for key, value in said.items() for word in ("--conf", f"{key}={value}")]
    command = [SPARK_SUBMIT, "--master", "local[1]", *options, str(ROOT / "streaming" / "__main__.py")]
    job.start(command, {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable})
    job.catch_up(end_offsets(kafka, topic))
    job.stop()

    effective = effective_settings(log)
    assert {key: effective.get(key) for key in said} == said
    assert effective["spark.master"] == "local[1]"
    assert effective["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"  # said by nobody
    identity = json.loads((job.checkpoint / "evenkeel" / "identity.json").read_text())
    assert identity["state_partitions"] == 3
    assert tables.as_facts(job.tables) == folded((records, DEFAULT_SETTINGS))
