"""The stream from ``facts`` to the projections: beside detection, or once to the end.

Its checkpoint lies with the tables and has an identity of its own, under which appends are numbered. Where it is lost,
or too old for the log of ``facts``, the projections begin anew: what facts still tell is removed and made again.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from schemas.table_definition import Table
from schemas.tables import FACTS, PROJECTIONS
from streaming.errors import CheckpointError
from streaming.file_lock import CannotLock, HeldElsewhere, held
from streaming.spark.lease import local_path
from streaming.spark.projections.appended import appended
from streaming.spark.projections.batch import project
from streaming.spark.projections.creation import create_tables
from streaming.spark.projections.position import CHECKPOINT, is_cut_short, is_readable, position
from streaming.spark.session import PROJECTIONS_POOL, scheduler_pool
from streaming.spark.storage import Folder

BYTES_A_BATCH = "512m"  # of compacted facts, when it begins anew
FIRST_REAL_DAY = "2001-01-01"  # quarantined lines of files have no time: their facts are of 1970
PROGRESS_EVERY_S = 1
_IDENTITY = "evenkeel/identity"

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Projections:
    """The running stream. While it runs, no other process can write the projections."""

    query: StreamingQuery
    _claim: ExitStack

    def stop(self) -> None:
        self.query.stop()
        self._claim.close()


def start_projections(spark: SparkSession, tables: str, seconds: float) -> Projections:
    """Keep the tables up to date, ``seconds`` after ``seconds``; ``tables`` is the folder of all of them."""
    with ExitStack() as claim:
        claim.enter_context(_claimed(tables))
        identity = _prepare(spark, tables, afresh=False)
        query = _start(spark, tables, identity, processingTime=f"{round(seconds * 1000)} milliseconds")
        return Projections(query, claim.pop_all())


def run_projections(spark: SparkSession, tables: str, *, afresh: bool = False, tell: Tell | None = None) -> None:
    """Bring the tables up to the newest fact and return; ``afresh``: make all that facts tell again.

    ``tell`` hears every second how many facts are read, and of how many where all are.
    """
    with _claimed(tables):
        identity = _prepare(spark, tables, afresh)
        query = _start(spark, tables, identity, availableNow=True)
        if tell is None:
            query.awaitTermination()
        else:
            _follow(query, spark.read.format("delta").load(f"{tables}/{FACTS.name}").count(), tell)


def _follow(query: StreamingQuery, facts: int, tell: Tell) -> None:
    read: dict[int, int] = {}
    while not query.awaitTermination(PROGRESS_EVERY_S):
        read |= {done.batchId: done.numInputRows for done in query.recentProgress}
        tell(sum(read.values()), facts)


def _start(spark: SparkSession, tables: str, identity: str, **trigger: Any) -> StreamingQuery:
    """The batch that was cut short, if one was, is done again: what it had appended is not appended twice."""
    facts = (
        spark.readStream.format("delta")
        .option("skipChangeCommits", "true")  # expired days, compacted files: they are no new facts
        .option("maxBytesPerTrigger", BYTES_A_BATCH)
        .load(f"{tables}/{FACTS.name}")
    )
    with scheduler_pool(spark, PROJECTIONS_POOL):
        done = appended(spark, tables, identity) if is_cut_short(spark, tables) else {}
        return (
            facts.writeStream.queryName("projections")
            .option("checkpointLocation", f"{tables}/{CHECKPOINT}")
            .foreachBatch(partial(project, tables=tables, identity=identity, done=done))
            .trigger(**trigger)
            .start()
        )


def _prepare(spark: SparkSession, tables: str, afresh: bool) -> str:
    """The identity under which the stream writes."""
    with scheduler_pool(spark, PROJECTIONS_POOL):
        create_tables(spark, tables)
        identity = Folder(spark, f"{tables}/{CHECKPOINT}").read(_IDENTITY)
        if afresh or identity is None or not _can_go_on(spark, tables):
            identity = _begin_anew(spark, tables)
        return identity


def _can_go_on(spark: SparkSession, tables: str) -> bool:
    read = position(spark, tables)
    return read is None or is_readable(spark, tables, read)


def _begin_anew(spark: SparkSession, tables: str) -> str:
    """The checkpoint goes first and the identity comes last: if this is cut short, it is done again."""
    folder = Folder(spark, f"{tables}/{CHECKPOINT}")
    folder.delete("")
    oldest = _oldest_day(spark, tables)
    for table in PROJECTIONS:
        path = f"{tables}/{table.name}"
        if not spark.read.format("delta").load(path).isEmpty():
            DeltaTable.forPath(spark, path).delete(_told_by_facts(table, oldest))
    identity = str(uuid4())
    folder.write(_IDENTITY, identity)
    return identity


def _oldest_day(spark: SparkSession, tables: str) -> str | None:
    """The first day that facts still hold, whole; None if they hold none."""
    facts = spark.read.format("delta").load(f"{tables}/{FACTS.name}").where(f"date >= '{FIRST_REAL_DAY}'")
    first = facts.selectExpr("CAST(min(date) AS STRING)").first()
    return None if first is None else first[0]


def _told_by_facts(table: Table, oldest: str | None) -> str:
    """Rows that will be made again. Older ones stay as they are: their facts have expired."""
    day = "date" if "date" in table.partitioned_by else "CAST(ts AS DATE)"
    again = f"{day} < '{FIRST_REAL_DAY}'"
    return again if oldest is None else f"{again} OR {day} >= '{oldest}'"


@contextmanager
def _claimed(tables: str) -> Iterator[None]:
    """The projections for this process alone, where their file system has locks."""
    folder = local_path(tables)
    with ExitStack() as stack:
        if folder is not None:
            path = folder / "_checkpoints" / "projections.lock"
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(held(path))
            except CannotLock:
                pass
            except HeldElsewhere as other:
                raise CheckpointError(
                    f"the projections in {tables} are being written by {other}: stop it first, or let it do the work"
                ) from None
        yield
