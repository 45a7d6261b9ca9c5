"""The session: what the user says counts, wherever it was said, and the rest is tuned."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
SAY = """
import json
from streaming.spark.session import build_session
settings = {"spark.sql.execution.arrow.maxRecordsPerBatch": "77", "spark.app.name": "from-settings"}
spark = build_session(settings=settings)
print(json.dumps(dict(spark.sparkContext.getConf().getAll()) | spark.conf.getAll))
"""


def test_what_the_user_says_counts(tmp_path):
    (tmp_path / "spark-defaults.conf").write_text(
        "# said by the user\nspark.master   local[1]\nspark.sql.shuffle.partitions=7\nspark.sql.adaptive.enabled true\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": "--conf spark.app.name=from-arguments --conf spark.scheduler.mode=FIFO pyspark-shell",
    }
    done = subprocess.run([sys.executable, "-c", SAY], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["spark.master"] == "local[1]"
    assert said["spark.sql.shuffle.partitions"] == "7"
    assert said["spark.sql.adaptive.enabled"] == "true"
    assert said["spark.app.name"] == "from-arguments"
    assert said["spark.scheduler.mode"] == "FIFO"
    assert said["spark.sql.execution.arrow.maxRecordsPerBatch"] == "77"
    assert said["spark.ui.enabled"] == "false"
    assert said["spark.driver.bindAddress"] == "127.0.0.1"


def test_a_session_that_is_there_is_tuned_where_nothing_was_said(spark):
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == str(spark.sparkContext.defaultParallelism)
    pools = spark._jsc.sc().getAllPools()
    assert sorted(pools.apply(i).name() for i in range(pools.size())) == ["default", "detection", "projections"]


def test_nothing_is_left_where_it_was_started(tmp_path):
    program = f"{SAY}\nspark.range(1).createOrReplaceTempView('t')\nspark.sql('SELECT * FROM t').collect()\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYSPARK_SUBMIT_ARGS", None)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    assert json.loads(done.stdout)["spark.master"] == "local[*,4]"
