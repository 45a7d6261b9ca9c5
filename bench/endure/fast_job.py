"""The job of the fast part, in a process of its own: detection as fast as it can, and maintenance on virtual days."""

import os
import signal
import time
from dataclasses import replace
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from bench.child import Child
from bench.endure.measures import KEPT_DAYS
from bench.environment import RecordsRead
from bench.results import say
from schemas.tables import PROJECTIONS, TABLES
from streaming.cli import ARROW_POOL
from streaming.config.load import load_config
from streaming.config.sections import Config
from streaming.errors import MonitorError
from streaming.projections.maintain import maintain
from streaming.projections.process import keep_running, projection_settings
from streaming.spark.facts import FactsTable
from streaming.spark.job import plan_of, run
from streaming.spark.maintain import maintain_facts
from streaming.spark.session import ARENAS, build_session
from streaming.tables.maintenance import MaintainOptions
from streaming.tables.version import take_tables

# Days are virtual, hours of the log are of the clock: a virtual day takes some minutes.
OPTIONS = MaintainOptions({table.name: KEPT_DAYS for table in TABLES}, log_hours=0.05)
REPLACED_MINUTES = 10  # of the clock, so long files that were replaced are kept


class Work(NamedTuple):
    """The work of the job since its start, and the size of its state."""

    records: int = 0
    batches: int = 0
    seconds: float = 0.0
    facts: int = 0
    state_bytes: int = 0


class FastJob(Child):
    """The process. All of its methods wait for its answer. Raises MonitorError once the job has failed."""

    def __init__(self, config: Path) -> None:
        os.environ.setdefault(*ARROW_POOL)  # as every command does; the process imports pyarrow before it serves
        # As in the process of the projections, which maintains the tables of a real job. Here each day's maintenance
        # has a thread of its own, to which glibc would give another heap.
        os.environ.setdefault(*ARENAS)
        super().__init__(_serve, config)

    def wait_until_started(self) -> None:
        self._answer()

    def work(self) -> Work:
        found: Work = self._ask("work", None)
        return found

    def rocksdb_bytes(self) -> int | None:
        """What RocksDB's cache has, with its write buffers. None: no batch has ended yet, so there may be no store."""
        found: int | None = self._ask("rocksdb_bytes", None)
        return found

    def maintain(self, virtual_now: datetime) -> None:
        """Begin maintenance as of this moment; wait only for the one before."""
        self._ask("maintain", virtual_now)

    def stop(self) -> None:
        self._ask("stop", None)

    def _ask(self, what: str, argument: datetime | None) -> Any:
        self._ours.send((what, argument))
        return self._answer()

    def _answer(self) -> Any:
        try:
            answer = self._ours.recv()
        except EOFError:
            raise MonitorError("the job of the fast part died; its last words are on stderr") from None
        if isinstance(answer, Exception):
            raise MonitorError(f"the job of the fast part failed: {answer}") from answer
        return answer


class _Counts(RecordsRead):
    """The counts of the job, with its batches and their seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.work = Work()

    def ended(self, took_s: float, now_ms: int) -> None:
        super().ended(took_s, now_ms)
        batches, seconds = self.work.batches + 1, self.work.seconds + took_s
        self.work = Work(self.records, batches, seconds, self._facts, sum(self._state_bytes.values()))


class _Job:
    """Detection and the projections in threads, and what is asked of them."""

    def __init__(self, config: Config, spark: SparkSession, stop: Event) -> None:
        self._config, self._spark = config, spark
        self._stop, self._started = stop, Event()
        self._counts = _Counts()
        self._error: BaseException | None = None
        self._threads = [Thread(target=self._detect), Thread(target=self._project)]
        self._maintenance: Thread | None = None

    def start(self) -> None:
        for thread in self._threads:
            thread.start()
        while not self._started.wait(0.1):
            self._check()

    def work(self, _: None) -> Work:
        self._check()
        return self._counts.work

    def rocksdb_bytes(self, _: None) -> int | None:
        """Asked of Java, since Spark's metrics say 0 where all stores share one cache (RocksDB.metrics)."""
        if not self._counts.work.batches:
            return None
        jvm: Any = self._spark._jvm
        states = jvm.org.apache.spark.sql.execution.streaming.state
        of_session = states.StateStoreConf.apply(self._spark._jsparkSession.sessionState().conf())
        conf = states.RocksDBConf.apply(of_session)
        return int(states.RocksDBMemoryManager.getOrCreateRocksDBMemoryManagerAndCache(conf)._2().getUsage())

    def maintain(self, virtual_now: datetime) -> None:
        """Begin the maintenance of this moment, beside detection, once the one before is over."""
        if self._maintenance is not None:
            self._maintenance.join()
        self._check()
        self._maintenance = Thread(target=self._maintain, args=(virtual_now,))
        self._maintenance.start()

    def stop(self, _: None) -> None:
        self._stop.set()
        for thread in (*self._threads, self._maintenance):
            if thread is not None:
                thread.join()
        self._check()

    def _detect(self) -> None:
        try:
            plan = replace(plan_of(self._config), health_seconds=None)  # its days would be those of the clock
            run(self._spark, plan, self._stop, self._started.set, self._counts)
        except BaseException as error:
            self._error = error
            self._stop.set()

    def _maintain(self, now: datetime) -> None:
        tables = self._config.tables.path
        try:
            for one in (maintain_facts(self._spark, tables, OPTIONS, now), *maintain(tables, OPTIONS, now)):
                say(f"{now:%m-%d} {one}")
            for table in PROJECTIONS:
                _delete_replaced(f"{tables}/{table.name}")
        except Exception as error:
            self._error = error

    def _project(self) -> None:
        keep_running(projection_settings(self._config), self._stop)

    def _check(self) -> None:
        if self._error is not None:
            raise self._error


def _serve(pipe: Connection, file: Path) -> None:
    config, stop = load_config(file), Event()
    spark = build_session("evenkeel-endure", config.spark.spark_settings())
    # Ctrl-C goes to all processes; ``stop`` comes by the pipe. The session has set a handler that ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _create_facts(spark, config.tables.path)
        job = _Job(config, spark, stop)
        job.start()
        pipe.send(None)
        what = ""
        while what != "stop":
            what, argument = pipe.recv()
            pipe.send(getattr(job, what)(argument))
    except EOFError:
        return
    except Exception as error:
        pipe.send(MonitorError(str(error)))
    finally:
        stop.set()
        spark.sparkContext.setLogLevel("OFF")  # interrupted tasks would log what they miss
        spark.stop()


def _delete_replaced(path: str) -> None:
    """Delete files that are in no version, and as old. They would be kept for up to two days, but nobody reads here."""
    if DeltaTable.is_deltatable(path):
        replaced = DeltaTable(path).vacuum(0, dry_run=True, enforce_retention_duration=False, full=True)
        before_s = time.time() - 60 * REPLACED_MINUTES
        for file in (Path(path, name) for name in replaced):
            if file.exists() and file.stat().st_mtime < before_s:  # a younger one may be about to be committed
                file.unlink()


def _create_facts(spark: SparkSession, tables: str) -> None:
    """The table, whose replaced files go within the run."""
    take_tables(tables)
    table = FactsTable(spark, tables)
    table.create()
    kept = f"'delta.deletedFileRetentionDuration' = 'interval {REPLACED_MINUTES} minutes'"
    spark.sql(f"ALTER TABLE delta.`{table.path}` SET TBLPROPERTIES ({kept})")
