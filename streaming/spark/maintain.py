"""Maintains ``facts``, which Spark alone writes. It may run beside the job, or be run by the job itself.

The log is kept short, because each append lists it: docs/performance.md has what that takes.
"""

from datetime import UTC, datetime
from threading import Event
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Row, SparkSession

from schemas.tables import FACTS
from streaming.lease import RequireHeld, always_held
from streaming.projections.progress import read_progress
from streaming.spark.session import MAINTENANCE_POOL, scheduler_pool
from streaming.tables.facts_log import FactsLog
from streaming.tables.maintenance import EVERY_S, Maintained, MaintainOptions, Round, keep_maintaining


def maintain_facts(
    spark: SparkSession,
    tables: str,
    options: MaintainOptions | None = None,
    now: datetime | None = None,
    require_held: RequireHeld = always_held,
    in_full: bool = True,
) -> Maintained | None:
    """One round; None where there is no table. ``now`` decides which days are over and which facts too old.

    ``require_held`` is called before each commit. If not ``in_full``, only the log is shortened; None if it was short.
    """
    work = Round(tables, options or MaintainOptions(), now or datetime.now(UTC))
    path = f"{tables}/{FACTS.name}"
    if not DeltaTable.isDeltaTable(spark, path):
        return None
    with scheduler_pool(spark, MAINTENANCE_POOL):
        step = work.maintain if in_full else work.keep_short
        return step(FACTS, _SparkUpkeep(spark, path, require_held), unread=_why_unread(tables, work.options))


def maintain_regularly(
    spark: SparkSession,
    tables: str,
    options: MaintainOptions,
    *,
    stop: Event,
    require_held: RequireHeld = always_held,
    every_seconds: float = EVERY_S,
) -> None:
    """For a thread of the job, until ``stop``: a round every hour, and every ten minutes one of the log alone.

    What goes wrong is logged; it never ends the job.
    """
    path = f"{tables}/{FACTS.name}"

    def maintain_round(is_hourly: bool) -> list[Maintained]:
        done = maintain_facts(spark, tables, options, require_held=require_held, in_full=is_hourly)
        return [] if done is None else [done]

    keep_maintaining(maintain_round, path, stop=stop, every_seconds=every_seconds)


class _SparkUpkeep:
    def __init__(self, spark: SparkSession, path: str, require_held: RequireHeld) -> None:
        self._spark, self._path, self._require_held = spark, path, require_held
        self._name = f"delta.`{path.replace('`', '``')}`"

    def drop_expired(self, days: list[str]) -> int:
        """Whole partitions: no file is read or written."""
        if not days:
            return 0
        deleted = self._sql(f"DELETE FROM {self._name} WHERE date <= '{days[-1]}'")
        return int(deleted["num_affected_rows"])

    def compact(self, before: str | None) -> tuple[int, int]:
        closed = "" if before is None else f" WHERE date < '{before}'"
        metrics = self._sql(f"OPTIMIZE {self._name}{closed}")["metrics"]
        return metrics["numFilesRemoved"], metrics["numFilesAdded"]

    def vacuum(self) -> None:
        self._require_held()
        self._spark.sql(f"VACUUM {self._name}")

    def checkpoint(self) -> None:
        jvm: Any = self._spark._jvm
        delta_log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._spark._jsparkSession, self._path)
        snapshot = delta_log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())
        delta_log.checkpoint(snapshot, jvm.scala.Option.empty())

    def _sql(self, statement: str) -> Row:
        self._require_held()
        return self._spark.sql(statement).collect()[0]


def _why_unread(tables: str, options: MaintainOptions) -> str | None:
    """Whether facts that are as old as what would be removed are still to be read by the projections."""
    progress = read_progress(tables)
    log = FactsLog(f"{tables}/{FACTS.name}")
    unread_since = None if progress is None else log.commit_time(progress.done.version)
    kept_since = datetime.now(UTC) - options.log_kept
    is_unread = unread_since is not None and unread_since < kept_since
    return "the projections have yet to read them" if is_unread else None
