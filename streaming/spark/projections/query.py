"""The stream from ``facts`` to the projections: beside detection, or once to the end.

Its checkpoint lies with the tables and has an identity of its own, under which appends are numbered. Where it is lost,
or too old for the log of ``facts``, the projections begin anew: what facts still tell is removed and made again.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from uuid import uuid4

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from schemas.table import Table
from schemas.tables import FACTS, PROJECTIONS
from streaming.errors import CheckpointError
from streaming.spark.projections.appended import appended
from streaming.spark.projections.batch import project
from streaming.spark.projections.creation import create_tables
from streaming.spark.projections.position import CHECKPOINT, is_cut_short, is_readable, position
from streaming.spark.session import PROJECTIONS_POOL
from streaming.spark.storage import Folder

BYTES_A_BATCH = "512m"  # of compacted facts, when it begins anew
FIRST_REAL_DAY = "2001-01-01"  # quarantined lines of files have no time: their facts are of 1970
TELL_EVERY_S = 1
_IDENTITY = "evenkeel/identity"

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Projections:
    """The running stream. While it runs, no other process can write the projections."""

    query: StreamingQuery
    _lock: Any

    def stop(self) -> None:
        self.query.stop()
        self._lock.close()


def start_projections(spark: SparkSession, tables: str, seconds: float) -> Projections:
    """Keep the tables up to date, ``seconds`` after ``seconds``; ``tables`` is the folder of all of them."""
    lock = _claim(tables)
    try:
        identity = _prepare(spark, tables, afresh=False)
        query = _start(spark, tables, identity, processingTime=f"{round(seconds * 1000)} milliseconds")
    except BaseException:
        lock.close()
        raise
    return Projections(query, lock)


def run_projections(spark: SparkSession, tables: str, *, afresh: bool = False, tell: Tell | None = None) -> None:
    """Bring the tables up to the newest fact and return; ``afresh``: make all that facts tell again.

    ``tell`` hears every second how many facts are read, and of how many where all are.
    """
    with _claim(tables):
        identity = _prepare(spark, tables, afresh)
        query = _start(spark, tables, identity, availableNow=True)
        if tell is None:
            query.awaitTermination()
        else:
            _follow(query, spark.read.format("delta").load(f"{tables}/{FACTS.name}").count(), tell)


def _follow(query: StreamingQuery, facts: int, tell: Tell) -> None:
    read: dict[int, int] = {}
    while not query.awaitTermination(TELL_EVERY_S):
        read |= {done.batchId: done.numInputRows for done in query.recentProgress}
        tell(sum(read.values()), facts)


@contextmanager
def in_projections_pool(spark: SparkSession) -> Iterator[None]:
    """Jobs of this thread, and of queries started in it, yield to detection."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.scheduler.pool")
    context.setLocalProperty("spark.scheduler.pool", PROJECTIONS_POOL)
    try:
        yield
    finally:
        context.setLocalProperty("spark.scheduler.pool", before)  # type: ignore[arg-type]  # None removes it


def _start(spark: SparkSession, tables: str, identity: str, **trigger: Any) -> StreamingQuery:
    """The batch that was cut short, if one was, is done again: what it had appended is not appended twice."""
    facts = (
        spark.readStream.format("delta")
        .option("skipChangeCommits", "true")  # expired days, compacted files: they are no new facts
        .option("maxBytesPerTrigger", BYTES_A_BATCH)
        .load(f"{tables}/{FACTS.name}")
    )
    with in_projections_pool(spark):
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
    with in_projections_pool(spark):
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


def _claim(tables: str) -> Any:
    """A lock on the projections, for the life of the file. Only local file systems have one to offer."""
    url = urlparse(tables)
    if url.scheme not in ("", "file"):
        return Path("/dev/null").open()
    folder = Path(unquote(url.path) if url.scheme else tables)
    path = folder / "_checkpoints" / "projections.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise CheckpointError(
            f"the projections in {tables} are being written by another evenkeel: stop it first, or let it do the work"
        ) from None
    return lock
