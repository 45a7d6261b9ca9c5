"""How far the projections have read ``facts``, by Delta's own offsets in their checkpoint."""

from datetime import datetime, timezone
from typing import Any, NamedTuple

import msgspec
from delta.tables import DeltaTable
from msgspec import Struct, field
from pyspark.sql import SparkSession

from streaming.errors import CheckpointError
from streaming.spark.storage import Folder

CHECKPOINT = "_checkpoints/projections"


class _Offset(Struct):
    table: str = field(name="reservoirId")
    version: int = field(name="reservoirVersion")
    initial: bool = field(name="isStartingVersion", default=False)


class Position(NamedTuple):
    """Commits of ``facts`` below ``version`` are read. ``initial``: still in the snapshot of the start.

    ``table`` is Delta's id of the facts table that was read.
    """

    table: str
    version: int
    initial: bool


def position(spark: SparkSession, tables: str) -> Position | None:
    """None before the first batch was begun."""
    folder = Folder(spark, f"{tables}/{CHECKPOINT}")
    done = max(folder.numbers("commits"), default=0)
    text = folder.read(f"offsets/{done}")
    if text is None:
        return None
    offset = msgspec.json.decode(text.splitlines()[-1], type=_Offset)
    return Position(offset.table, offset.version, offset.initial)


def is_cut_short(spark: SparkSession, tables: str) -> bool:
    """Whether a batch was begun and not committed: the stream will do it again."""
    folder = Folder(spark, f"{tables}/{CHECKPOINT}")
    return max(folder.numbers("offsets"), default=-1) > max(folder.numbers("commits"), default=-1)


def commit_time(spark: SparkSession, tables: str, version: int) -> datetime | None:
    """When this version of ``facts`` was committed; None if its log has no such entry, any more or yet."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(f"{tables}/facts/_delta_log/{version:020d}.json")
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    if not files.exists(path):
        return None
    return datetime.fromtimestamp(files.getFileStatus(path).getModificationTime() / 1000, timezone.utc)


def is_readable(spark: SparkSession, tables: str, read: Position) -> bool:
    """Whether ``facts`` can still be read from here on: its log is there, or is yet to be written.

    Raises CheckpointError if it is another table by now.
    """
    facts = DeltaTable.forPath(spark, f"{tables}/facts")
    if facts.detail().select("id").collect()[0][0] != read.table:
        raise CheckpointError(
            f"the facts in {tables} are not those that the tables beside them were made from: restore them, or delete "
            f"{tables}/_checkpoints and all tables but facts"
        )
    if commit_time(spark, tables, read.version) is not None:
        return True
    return bool(read.version == facts.history(1).select("version").collect()[0][0] + 1)
