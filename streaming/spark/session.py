"""The Spark session, with evenkeel's settings wherever the user has set nothing.

The user's settings come from ``spark-submit`` or ``PYSPARK_SUBMIT_ARGS``, then evenkeel's configuration file, then
``spark-defaults.conf``. Only settings that none of them names are made here.
"""

import atexit
import logging
import os
import pwd
import re
import shlex
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext, SparkFiles
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

import schemas
import streaming
from streaming.config.config_errors import holds_secret_property, is_secret, without_userinfo
from streaming.config.storages import spark_defaults
from streaming.errors import AwayError, MonitorError, SetupError
from streaming.jvm.java import java_home
from streaming.spark.failure import root_of
from streaming.spark.packages import newer_lz4, spark_jars

log = logging.getLogger(__name__)

DETECTION_POOL, MAINTENANCE_POOL = "detection", "maintenance"
POOLS = f"""<?xml version="1.0"?>
<allocations>
  <pool name="{DETECTION_POOL}">
    <schedulingMode>FIFO</schedulingMode><weight>100</weight><minShare>1000</minShare>
  </pool>
  <pool name="{MAINTENANCE_POOL}">
    <schedulingMode>FIFO</schedulingMode><weight>1</weight><minShare>0</minShare>
  </pool>
</allocations>
"""
# A task may fail three times, as on a cluster: local[*] ends the query with the first failure.
LOCAL_RETRYING = "local[*,4]"
LOOPBACK = "127.0.0.1"  # with a local master: no other machine needs to reach us
# When a job starts on a cluster, no executor has registered yet, and Spark counts two cores: that would be the number
# of state partitions for the checkpoint's life. So it is this number, or that of the shards if they are fewer.
PARTITIONS_ON_A_CLUSTER = 32
# glibc gives threads up to 8 heaps a core of their own. Blocks of RocksDB's cache come from one and leave another, so
# each grows for hours (facebook/rocksdb #5222, prestodb/presto #8993).
ARENAS = ("MALLOC_ARENA_MAX", "2")
# Free blocks lie among those in use, so glibc keeps them. Java gives them back to the system each minute (JDK-8293114:
# Java 17.0.9, 21.0.1 and later, at first as an experimental option: Ubuntu 24.04 came with such a Java). An older Java
# ignores this, since Spark starts it with IgnoreUnrecognizedVMOptions.
TRIMMED = "-XX:+UnlockExperimentalVMOptions -XX:TrimNativeHeapInterval=60000"
TUNED = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark's listeners fill the heap for the UI though it is off (SharedState, AppStatusStore): 1,000 of the first
    # three, each with its plan or its tasks, 100,000 of the last.
    "spark.sql.ui.retainedExecutions": "25",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    # While one of these is on, each `persist` clones the session to turn it off (CacheManager). Spark 4.0.0 and 4.0.1
    # never free a clone (SPARK-54753): 150 KB a batch. Without buckets and adaptive plans they change nothing else.
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.adaptive.applyFinalStageShuffleOptimizations": "false",
    # Each task waits 3 s for the executor that had its part of the state before. So a new executor never gets any, and
    # state that lay unevenly after the start stays so. Where cores are free, tasks still go to their executor first.
    "spark.locality.wait": "0s",
    # Arrow keeps a column of one batch in one buffer, which doubles as it grows and must stay under 2 GiB: with values
    # of MAX_RECORD_BYTES the 8,193rd row fails, again after every restart. And it is memory beside the heap.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # One cache and one limit of write buffers for all state stores of a Java process: as much as two of them take
    # without a limit (8 MB and two write buffers of 64 MB each). Without it a closed store leaves its cache behind.
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "256",
    f"spark.executorEnv.{ARENAS[0]}": ARENAS[1],
    "spark.driver.defaultJavaOptions": TRIMMED,
    "spark.executor.defaultJavaOptions": TRIMMED,
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    # VACUUM lists a table's folders in so many tasks, however few there are: 10,000 of them took minutes.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    "spark.sql.inMemoryColumnarStorage.batchSize": "200",  # rows of a quarantined flood have up to 90 KB each
    "spark.sql.streaming.stopTimeout": "10s",
}
LOGGED_BY_US = (  # these log each failure with its whole stack trace; ``failure`` gives it in one message
    "org.apache.spark.sql.execution.streaming.MicroBatchExecution",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.executor.Executor",
    "org.apache.spark.util.Utils",
    "org.apache.spark.sql.delta.files.DeltaFileFormatWriter",
)
# When a query is stopped, Spark looks for its interruption in the text of Python's error, by a regular expression that
# recurs for every letter of it: in a stack of 1 MB, as is the default, that ends in a StackOverflowError.
DEEP_STACKS = "-Xss16m"
QUIET_JAVA = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.alwaysWriteExceptions = false
appender.stderr.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSS'Z'}{UTC} %p %c{1}: %replace{%m%n%ex}{NAMED}{$1***}
""".replace("NAMED", r"(?i)([\\w.]*(?:secret|passw|token|credential|access.?key)[\\w.]*[\"' ]*[=:][\"' ]*)[^\"'\\s;,]+")
# Settings that Java must know when it starts, in its command line. All others are set once it runs.
NEEDED_TO_START = re.compile(
    r"spark\.(master|app\.name|files|archives)$|spark\.(driver|jars|submit|yarn|kubernetes|pyspark)\b"
)
OWN_JAVA_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")  # of the Java that we start
CLASS_PATH = "spark.driver.extraClassPath"  # comes before Spark's own jars
NEEDED_CLASSES = ("io.delta.sql.DeltaSparkSessionExtension", "org.apache.spark.sql.kafka010.KafkaSourceProvider")
SHIPPED = ("__init__.py", "errors.py", "secret_mask.py", "core/**/*.py", "spark/**/*.py")


def build_session(
    app_name: str = "evenkeel", settings: Mapping[str, str] | None = None, jars_folder: str = ""
) -> SparkSession:
    """The session of this process; ``settings`` are the ``spark.*`` keys of evenkeel's configuration file.

    ``jars_folder``: the folder of the jars of Delta and Kafka; empty: they are fetched once.
    """
    if SparkContext._active_spark_context is not None:
        return _tune_running_session(SparkSession.builder.getOrCreate())
    scratch = Path(tempfile.mkdtemp(prefix="evenkeel-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    pools, logs = scratch / "pools.xml", scratch / "log4j2.properties"
    pools.write_text(POOLS)
    logs.write_text(QUIET_JAVA)
    wanted = {
        **TUNED,
        "spark.app.name": app_name,
        "spark.master": LOCAL_RETRYING,
        **({} if "SPARK_DRIVER_MEMORY" in os.environ else {"spark.driver.memory": "2g"}),
        "spark.scheduler.allocation.file": pools.as_uri(),
        "spark.driver.extraJavaOptions": f"{DEEP_STACKS} -Dlog4j2.configurationFile={logs.as_uri()}",
    }
    asked = {**_without(wanted, _spark_defaults()), **(settings or {})}
    kept_back = _start_java(asked, scratch, jars_folder)
    conf = SparkConf()  # now has all that the user set elsewhere
    for key, value in kept_back.items():
        conf.set(key, value)
    for key, value in {**wanted, **(settings or {})}.items():
        conf.setIfMissing(key, value)
    if _is_local(conf):
        for key in ("spark.driver.host", "spark.driver.bindAddress"):
            conf.setIfMissing(key, LOOPBACK)
    _add_jars(conf, jars_folder)
    spark = _session_by(conf)
    if not conf.contains("spark.sql.shuffle.partitions"):
        partitions = spark.sparkContext.defaultParallelism if _is_local(conf) else PARTITIONS_ON_A_CLUSTER
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    if not conf.contains("spark.log.level"):
        _quieten_logs(spark)
    _ship_code(spark.sparkContext, scratch)
    return spark


@contextmanager
def scheduler_pool(spark: SparkSession, pool: str) -> Iterator[None]:
    """Run the jobs of this thread, and of queries started in it, in this pool. Maintenance yields to detection."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.scheduler.pool")
    context.setLocalProperty("spark.scheduler.pool", pool)
    try:
        yield
    finally:
        with suppress(Py4JError, OSError):  # Java may have ended, which is not the error to report
            context.setLocalProperty("spark.scheduler.pool", before)  # type: ignore[arg-type]  # None removes it


def _session_by(conf: SparkConf) -> SparkSession:
    """The session of this builder. Raises AwayError if a master of Spark does not answer: Spark gives up after 60 s."""
    try:
        return SparkSession.builder.config(conf=conf).getOrCreate()
    except Py4JJavaError as error:
        master = conf.get("spark.master") or ""
        if not master.startswith("spark://"):
            raise
        raise AwayError(f"{master} (spark.master) gives no session: {root_of(error.java_exception)}") from error


def _is_local(conf: SparkConf) -> bool:
    return (conf.get("spark.master") or "").startswith("local")


def _tune_running_session(spark: SparkSession) -> SparkSession:
    """Tune a session that was started before: the settings that can still be changed and that the user did not set."""
    said = spark.conf.getAll
    for key, value in TUNED.items():
        if key not in said and spark.conf.isModifiable(key):
            spark.conf.set(key, value)
    return spark


def _start_java(settings: Mapping[str, str], scratch: Path, jars_folder: str) -> dict[str, str]:
    """Start Java unless it runs already. ``PYSPARK_SUBMIT_ARGS`` wins over ``settings``.

    Returns the settings that were kept out of Java's command line, which every user of the machine can read.

    Spark makes folders where Java was started (``artifacts``, ``spark-warehouse``) and fails where it may not
    write. So Java starts in ``scratch``, unless the user named files to it, perhaps by relative paths.
    """
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        _require_name_of_user()
        os.environ["JAVA_HOME"] = str(java_home())
        os.environ.setdefault(*ARENAS)
        python = settings.get("spark.pyspark.python") or _spark_defaults().get("spark.pyspark.python")
        os.environ.setdefault("PYSPARK_PYTHON", python or sys.executable)  # workers must run an equal environment
        master = {**_spark_defaults(), **settings}.get("spark.master", "")
        if master.startswith("local") and "PYSPARK_SUBMIT_ARGS" not in os.environ:
            os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)  # else Spark fails if the machine's name has no address
        conf = SparkConf(loadDefaults=False)
        settings = {**settings, **_with_newer_lz4({**_spark_defaults(), **settings}, jars_folder)}
        open_ones = {key: value for key, value in settings.items() if _is_needed_to_start(key, value)}
        conf.setAll([(key, _without_secrets(key, value, scratch)) for key, value in open_ones.items()])
        kept_back = _without(settings, {**open_ones, **_submitted()})
    else:
        conf, kept_back = None, {}
    with nullcontext() if "PYSPARK_SUBMIT_ARGS" in os.environ else _working_in(scratch), _termination_held_back():
        try:
            SparkContext._ensure_initialized(conf=conf)
        except PySparkRuntimeError as error:
            # Not SetupError: the machine may have had no memory left, and the next start may succeed.
            raise MonitorError(
                f"Java, in which Spark runs, ended at once: its last words stand above ({error})"
            ) from None
    return kept_back


def _with_newer_lz4(said: Mapping[str, str], jars_folder: str = "") -> dict[str, str]:
    """The settings with a newer lz4 in the class path of the Java that we start, unless the user brings jars."""
    places = [said.get(key, "") for key in ("spark.jars", "spark.jars.packages", CLASS_PATH)]
    if any("delta-spark" in place for place in (*places, os.environ.get("PYSPARK_SUBMIT_ARGS", ""))):
        return {}
    theirs = said.get(CLASS_PATH, "")
    return {CLASS_PATH: os.pathsep.join(filter(None, [str(newer_lz4(spark_jars(jars_folder))), theirs]))}


def _require_name_of_user() -> None:
    """Raise SetupError without a user name: Java's home would be "?", and Hadoop's login fails with a
    NullPointerException.
    """
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        raise SetupError(
            f"user {os.getuid()} has no name: Hadoop, which Spark uses, needs an entry for it in /etc/passwd"
        ) from None


@contextmanager
def _termination_held_back() -> Iterator[None]:
    """A process that is started in this block ignores SIGTERM for good. This process gets the signal at its end.

    A signal that systemd or a shell sends to the whole process group reaches Java too. If Java ended by itself, before
    the query is stopped, each thread that speaks to it would fail. It ends when this process closes its standard input.
    Only signals that are ignored stay with Java (HotSpot unblocks others), and only blocked ones wait for this process.
    """
    if threading.current_thread() is not threading.main_thread():  # the main thread reports it
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    handler = signal.getsignal(signal.SIGTERM)
    if signal.SIGTERM not in signal.sigpending():  # an ignored signal would be lost
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _is_needed_to_start(key: str, value: str) -> bool:
    if NEEDED_TO_START.match(key) is None or is_secret((key,)):
        return False
    return key in OWN_JAVA_OPTIONS or not holds_secret_property(value)


def _without_secrets(key: str, value: str, scratch: Path) -> str:
    """The options for the command line. Options with secrets go into a file that only this user can read, and that Java
    reads itself (``@argfiles``). A warning is logged for an address with a password.
    """
    if key in OWN_JAVA_OPTIONS and holds_secret_property(value):
        file = scratch / f"{key}.options"
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.writelines(f"{_quoted(option)}\n" for option in shlex.split(value))
        return f'"@{file}"'
    if without_userinfo(value) != value:
        log.warning(
            "%s holds a password, and everybody on this machine can read it in Java's command line: set it in "
            "spark-defaults.conf instead",
            key,
        )
    return value


def _quoted(option: str) -> str:
    """The option as a file of options needs it."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _submitted() -> dict[str, str]:
    """The ``--conf`` settings of ``PYSPARK_SUBMIT_ARGS``."""
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    pairs = [word.partition("=") for option, word in pairwise(words) if option in ("--conf", "-c")]
    return {key: value for key, _, value in pairs}


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _spark_defaults() -> dict[str, str]:
    """The settings of the user's ``spark-defaults.conf``, or of the properties file that replaces it."""
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    if "--properties-file" in words:
        path = Path(words[words.index("--properties-file") + 1])
    else:
        path = spark_defaults(os.environ)
    if not path.is_file():
        return {}
    lines = [line.strip() for line in path.read_text().splitlines()]
    pairs = [re.split(r"\s*[=:\s]\s*", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[-1] for pair in pairs}


def _without(wanted: Mapping[str, str], said: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if key not in said}


def _add_jars(conf: SparkConf, jars_folder: str) -> None:
    """Give Java the jars of Delta and Kafka unless it has them: ``spark-submit`` needs no ``--packages`` then."""
    jvm: Any = SparkContext._jvm
    java = jvm.java
    loader = java.lang.Thread.currentThread().getContextClassLoader()
    if all(loader.getResource(name.replace(".", "/") + ".class") for name in NEEDED_CLASSES):
        return
    jars = [jar.as_uri() for jar in spark_jars(jars_folder)]
    for jar in jars:
        loader.addURL(java.net.URI(jar).toURL())
    conf.set("spark.jars", ",".join([*filter(None, [conf.get("spark.jars", "")]), *jars]))


def _quieten_logs(spark: SparkSession) -> None:
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)  # it logs what ``foreachBatch`` raises
    jvm: Any = spark._jvm
    spark.sparkContext.setLogLevel("ERROR")
    log4j = jvm.org.apache.logging.log4j
    for name in LOGGED_BY_US:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)


def _ship_code(context: SparkContext, scratch: Path) -> None:
    """Send our code to the workers, so that each runs the driver's version, whether it is installed there or not."""
    archive = scratch / "evenkeel.zip"
    with ZipFile(archive, "w") as zipped:
        for package, patterns in ((streaming, SHIPPED), (schemas, ("*.py",))):
            folder = Path(package.__path__[0])
            for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
                zipped.write(path, f"{folder.name}/{path.relative_to(folder)}")
    context.addPyFile(str(archive))
    sys.path.remove(f"{SparkFiles.getRootDirectory()}/{archive.name}")  # the driver has the real files
