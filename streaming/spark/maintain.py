"""Compacts and cleans ``facts``, which Spark alone writes. It may run beside the job, or be run by the job itself.

Days are compacted, facts past their retention dropped, replaced files deleted, and the log kept short: every commit
lists the whole log, and with 25,000 files in it an append took 1.6 s instead of 0.4 s.
"""

import logging
from datetime import datetime, timedelta, timezone
from functools import partial
from threading import Event
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from schemas.tables import FACTS
from streaming.projections.progress import read_progress
from streaming.projections.spark_checkpoint import read_spark_checkpoint
from streaming.spark.creation import sql_name
from streaming.spark.session import MAINTENANCE_POOL, scheduler_pool
from streaming.tables.conflicts import retried
from streaming.tables.facts_log import FactsLog
from streaming.tables.maintenance import FIRST_ROUND_AFTER_S, Maintained, MaintainOptions

log = logging.getLogger(__name__)

WRITES = ("WRITE", "MERGE", "STREAMING UPDATE")
COMMITS_READ = 20


def maintain_facts(
    spark: SparkSession, tables: str, options: MaintainOptions | None = None, now: datetime | None = None
) -> Maintained | None:
    """One round; None where there is no table. ``now`` decides which days are over and which facts too old."""
    work = _Round(spark, tables, options or MaintainOptions(), now or datetime.now(timezone.utc))
    if not DeltaTable.isDeltaTable(spark, f"{tables}/{FACTS.name}"):
        return None
    with scheduler_pool(spark, MAINTENANCE_POOL):
        return work.maintain()


def maintain_hourly(
    spark: SparkSession, tables: str, options: MaintainOptions, *, stop: Event, every_seconds: float = 3600
) -> None:
    """For a thread of the job: a round every hour, until ``stop``. What goes wrong is logged; it never ends the job."""
    wait = min(every_seconds, FIRST_ROUND_AFTER_S)
    while not stop.wait(wait):
        wait = every_seconds
        try:
            log.info("maintained %s", maintain_facts(spark, tables, options))
        except Exception:
            log.exception("maintenance of %s/%s failed; it is tried again in %.0f s", tables, FACTS.name, every_seconds)


class _Round:
    def __init__(self, spark: SparkSession, tables: str, options: MaintainOptions, now: datetime) -> None:
        self._spark = spark
        self._tables = tables
        self._path = f"{tables}/{FACTS.name}"
        self._options = options
        self._now = now
        self._today = now.astimezone(timezone.utc).date()

    def maintain(self) -> Maintained:
        done = Maintained(FACTS.name)
        last_write = self._last_write()
        steps = [self._drop_expired_facts, self._compact]
        if self._is_unread():
            done.notes.append("replaced files and log kept: the projections have yet to read them")
        else:
            steps += [self._vacuum, partial(self._shorten_log, last_write)]
        for step in steps:
            retried(partial(step, done))
        return done

    def _drop_expired_facts(self, done: Maintained) -> None:
        """Whole partitions: no file is read or written."""
        days = self._options.days_kept(FACTS)
        expired = f"date < '{self._today - timedelta(days=days)}'"
        if days and not self._read().where(expired).isEmpty():
            deleted = self._sql(f"DELETE FROM {sql_name(self._path)} WHERE {expired}")
            done.rows_dropped += int(deleted["num_affected_rows"])

    def _compact(self, done: Maintained) -> None:
        open_files = self._read().where(f"date >= '{self._today}'").inputFiles()
        closed = f" WHERE date < '{self._today}'" if len(open_files) < self._options.files_a_day else ""
        metrics = self._sql(f"OPTIMIZE {sql_name(self._path)}{closed}")["metrics"]
        done.files_before += metrics["numFilesRemoved"]
        done.files_after += metrics["numFilesAdded"]

    def _vacuum(self, done: Maintained) -> None:
        """Files that were replaced stay for as long as the table's own property says. Appends alone replace none."""
        if done.rows_dropped or done.files_before:
            self._spark.sql(f"VACUUM {sql_name(self._path)}")

    def _shorten_log(self, last_write: datetime | None, done: Maintained) -> None:
        """Delta itself keeps whole days. The newest write always stays: its commit says what was read."""
        if last_write is None:
            return
        jvm: Any = self._spark._jvm
        delta_log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._spark._jsparkSession, self._path)
        snapshot = delta_log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())
        age = datetime.now(timezone.utc) - last_write + timedelta(hours=self._options.log_hours)
        milliseconds = jvm.java.util.OptionalLong.of(age // timedelta(milliseconds=1))
        if snapshot.checkpointProvider().version() < snapshot.version():  # only what one has summed up can go
            delta_log.checkpoint(snapshot, jvm.scala.Option.empty())
        before = self._log_files(delta_log)
        delta_log.cleanUpExpiredLogs(
            snapshot,
            jvm.scala.jdk.javaapi.OptionConverters.toScala(milliseconds),
            jvm.org.apache.spark.sql.delta.TruncationGranularity.HOUR(),
        )
        done.log_files_deleted += before - self._log_files(delta_log)

    def _log_files(self, delta_log: Any) -> int:
        folder = delta_log.logPath()
        return len(folder.getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf()).listStatus(folder))

    def _last_write(self) -> datetime | None:
        """When something other than maintenance last changed the table."""
        history = DeltaTable.forPath(self._spark, self._path).history(COMMITS_READ)
        last = history.where(F.col("operation").isin(*WRITES)).selectExpr("unix_millis(max(timestamp))").first()
        return None if last is None or last[0] is None else datetime.fromtimestamp(last[0] / 1000, timezone.utc)

    def _is_unread(self) -> bool:
        """Whether facts that are as old as what would be removed are still to be read by the projections."""
        progress = read_progress(self._tables) or read_spark_checkpoint(self._tables)
        unread_since = None if progress is None else FactsLog(self._path).commit_time(progress.done.version)
        kept_since = datetime.now(timezone.utc) - timedelta(hours=self._options.log_hours)
        return unread_since is not None and unread_since < kept_since

    def _read(self) -> DataFrame:
        return self._spark.read.format("delta").load(self._path)

    def _sql(self, statement: str) -> Row:
        return self._spark.sql(statement).collect()[0]
