"""The results of a run in tables and checkpoint: sizes, commits, and the time when each became visible."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

MARKER = r'\{"event":"round".*\}'  # the last event of a record


class Commit(NamedTuple):
    """A commit. ``at_ms``: time of its file in Delta's log, by the file system's clock; ``files``: the added files."""

    version: int
    at_ms: float
    files: tuple[str, ...]


def commits(table: Path) -> list[Commit]:
    found = []
    for path in sorted((table / "_delta_log").glob("*.json")):
        actions = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        added = tuple(Path(action["add"]["path"]).name for action in actions if "add" in action)
        found.append(Commit(int(path.stem), path.stat().st_mtime_ns / 1e6, added))
    return found


def state_bytes(spark: SparkSession, checkpoint: Path) -> int:
    """The size of all shards together in the state store."""
    state = spark.read.format("statestore").load(str(checkpoint))
    (total,) = state.select(F.sum(F.octet_length("value.groupState.blob"))).collect()
    return int(total[0])


def checkpoint_bytes_since(checkpoint: Path, began: float) -> int:
    """The bytes of all files written into the checkpoint since ``began``."""
    return sum(size for size, changed in _files(checkpoint) if changed >= began)


def _files(folder: Path) -> Iterator[tuple[int, float]]:
    for path in folder.rglob("*"):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue  # Spark has deleted it in the meantime
        if path.is_file():
            yield found.st_size, found.st_mtime


def seconds_to_commit(spark: SparkSession, facts: Path, kafka: dict[str, Any], since_ms: float) -> list[float]:
    """The seconds from the arrival of each round that changed a group's members to the commit of the facts about it."""
    committed = {file: commit.at_ms for commit in commits(facts) for file in commit.files}
    told = (
        spark.read.format("delta")
        .load(str(facts))
        .where("fact = 'membership'")
        .select("group", F.unix_millis("ts").alias("ts"), F.col("_metadata.file_name").alias("file"))
        .distinct()
    )
    markers = (
        spark.read.format("kafka")
        .options(**kafka)
        .load()
        .select(F.col("value").cast("string").alias("value"), F.unix_millis("timestamp").alias("arrived"))
        .select("arrived", F.regexp_extract("value", MARKER, 0).alias("marker"))
        .select("arrived", F.json_tuple("marker", "group", "ts").alias("group", "ts"))
        .withColumn("ts", F.col("ts").cast("long"))
    )
    found = told.join(markers, ["group", "ts"]).where(F.col("arrived") >= since_ms).select("arrived", "file").collect()
    return [(committed[row.file] - row.arrived) / 1000 for row in found]
