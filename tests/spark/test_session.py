"""The session: what the user says counts, wherever it was said, and the rest is tuned."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streaming.spark import session
from streaming.spark.session import TRIMMED, _without_secrets

pytestmark = [
    pytest.mark.deep("tables of their own, written by Spark for a minute and more"),
    pytest.mark.spark,
    pytest.mark.timeout(600),
]
ROOT = Path(__file__).parents[2]
OWN_NAME = subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode == 0
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
    assert sorted(pools.apply(i).name() for i in range(pools.size())) == ["default", "detection", "maintenance"]


def test_the_memory_of_all_state_stores_has_one_limit(spark):
    """As Spark reads it when it opens a store."""
    state, none = spark._jvm.org.apache.spark.sql.execution.streaming.state, spark._jvm.PythonUtils.toScalaMap({})
    conf = state.RocksDBConf.apply(state.StateStoreConf(spark._jsparkSession.sessionState().conf(), none))
    assert (conf.boundedMemoryUsage(), conf.totalMemoryUsageMB()) == (True, 256)
    java = spark.sparkContext._jvm
    assert java.System.getenv("MALLOC_ARENA_MAX") == "2"
    options = [*java.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()]
    assert {*TRIMMED.split(), "-XX:+IgnoreUnrecognizedVMOptions"} <= {*options}
    assert spark.conf.get("spark.executor.defaultJavaOptions") == TRIMMED


def test_what_is_kept_for_a_while_has_no_session_of_its_own(spark):
    """Spark never frees one: Java's heap is full within hours."""
    rows = spark.range(10).persist()
    try:
        kept = spark._jsparkSession.sharedState().cacheManager().lookupCachedData(rows._jdf).get()
        assert kept.cachedRepresentation().cacheBuilder().cachedPlan().session().equals(spark._jsparkSession)
    finally:
        rows.unpersist()


def test_few_executions_are_kept_for_a_ui_that_is_off(spark):
    """Spark makes more than a thousand in ten minutes of detection."""
    context, store = spark._jsc.sc(), spark._jsparkSession.sharedState().statusStore()
    for _ in range(60):
        spark.range(1).collect()
    context.listenerBus().waitUntilEmpty()
    end_s = time.monotonic() + 30
    while store.executionsCount() > 25 and time.monotonic() < end_s:  # they are dropped in a thread
        time.sleep(0.1)
    assert store.executionsCount() <= 25
    assert context.statusStore().jobsList(None).size() <= 50


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


SECRET_SETTINGS = r"""
import json
from pathlib import Path
from streaming.spark.session import build_session
settings = {
    "spark.hadoop.fs.s3a.secret.key": "hunter2",
    "spark.ssl.keyPassword": "hunter2",
    "spark.hadoop.my.own.word": "hunter2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": r"-Dmy.word=open -Dmy.password=hunter2 '-Dmy.token=hunter2 \ "+'"quoted"\'',
    "spark.driver.defaultJavaOptions": "-Dmy.secret=hunter2",
    "spark.executor.extraJavaOptions": "-Dmy.password=hunter2",
    "spark.yarn.am.extraJavaOptions": "-Dmy.password=hunter2",
}
spark = build_session(settings=settings)
get = spark.sparkContext._jvm.java.lang.System.getProperty
properties = [get("my.word"), get("my.password"), get("my.token"), get("my.secret")]
lines = [path.read_bytes().decode("utf-8", "replace") for path in Path("/proc").glob("[0-9]*/cmdline")]
java = [line for line in lines if line.partition(chr(0))[0].endswith("java") and "spark.deploy.SparkSubmit" in line]
conf = spark.sparkContext.getConf()
hadoop = spark.sparkContext._jsc.hadoopConfiguration()
settings = [conf.get("spark.ssl.keyPassword"), hadoop.get("fs.s3a.secret.key")]
settings += [conf.get("spark.executor.extraJavaOptions"), conf.get("spark.yarn.am.extraJavaOptions")]
print(json.dumps([java, settings, properties]))
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads command lines in /proc")
def test_secret_is_not_in_the_command_line_of_java(tmp_path):
    """Everybody on the machine can read command lines."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYSPARK_SUBMIT_ARGS", None)
    done = subprocess.run(
        [sys.executable, "-c", SECRET_SETTINGS], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    java, known_to_spark, properties = json.loads(done.stdout)
    assert any("spark.driver.memory=1g" in line or "-Xmx1g" in line for line in java), java
    assert not any("hunter2" in line for line in java)
    assert "hunter2" not in done.stderr
    assert [text.rpartition("=")[2] for text in known_to_spark] == ["hunter2"] * 4
    assert properties == ["open", "hunter2", 'hunter2 \\ "quoted"', "hunter2"]


@pytest.mark.skipif(not OWN_NAME, reason="needs the right to give a machine another name")
def test_a_machine_whose_name_has_no_address_will_do(tmp_path):
    """As in a container without an entry of its own in /etc/hosts."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    words = ["unshare", "--uts", "sh", "-c", 'hostname no-such-name && exec "$@"', "sh", sys.executable, "-c", SAY]
    done = subprocess.run(
        words, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["spark.driver.host"] == "127.0.0.1"


def test_password_in_an_address_that_java_needs_to_start_is_warned_of(tmp_path, caplog):
    address = "https://me:hunter2@mirror.example/maven"
    assert _without_secrets("spark.jars.repositories", address, tmp_path) == address
    assert "spark.jars.repositories holds a password" in caplog.text
    assert "hunter2" not in caplog.text


def test_newer_lz4_comes_before_spark_s_own_and_what_the_user_names(monkeypatch: pytest.MonkeyPatch) -> None:
    jars = [Path("/cache/kafka-clients-3.9.2.jar"), Path("/cache/lz4-java-1.10.1.jar")]
    monkeypatch.setattr(session, "spark_jars", lambda jars_folder: jars)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    key = "spark.driver.extraClassPath"
    assert session._with_newer_lz4({}) == {key: "/cache/lz4-java-1.10.1.jar"}
    assert session._with_newer_lz4({key: "/opt/jars/*"}) == {key: "/cache/lz4-java-1.10.1.jar:/opt/jars/*"}
    theirs = "io.delta:delta-spark_2.13:4.0.0"
    assert session._with_newer_lz4({"spark.jars.packages": theirs}) == {}, "nothing is fetched"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--packages {theirs} pyspark-shell")
    assert session._with_newer_lz4({}) == {}
