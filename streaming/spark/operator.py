"""The one stateful operator: a shard's records and its blob go through ``fold``; facts and a report come out as rows.

Nothing here knows the domain.
"""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, get_type_hints
from zipimport import zipimporter

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
from msgspec import Struct

from schemas.ddl import sql_type
from schemas.facts import Fact
from streaming.core.settings import Settings
from streaming.core.shard import ClusterCounts, Record, fold
from streaming.core.state.packing import RESEED
from streaming.core.state.restore import SEED_TOPIC
from streaming.errors import StateVersionError

STATE_SCHEMA = "blob BINARY"  # one binary column: array-typed state fails on the second batch
FACT, REPORT = "fact", "report"
_ZSTD = pa.Codec("zstd", 1)
_SIZE_BYTES = 8
_FRAME = bytes.fromhex("28b52ffd")  # how what Zstandard makes begins (RFC 8878)


class OutputRow(NamedTuple):
    """The operator's columns. ``kind`` is FACT or REPORT; ``payload`` is the fact's payload, or the report, in JSON."""

    kind: str
    shard: int
    seq: int
    fact: str
    cluster: str
    group: str
    topic: str | None
    ts: int
    payload: str


OUTPUT_SCHEMA = ", ".join(f"`{name}` {sql_type(hint)}" for name, hint in get_type_hints(OutputRow).items())


class RecordsRead(Struct, frozen=True):
    """How many records of one topic partition one call read."""

    topic: str
    partition: int
    records: int


class ShardReport(Struct, frozen=True):
    """The report of one call: the records it read, the size of the shard's state, and the core's counts.

    ``kinds``: of its facts.
    """

    shard: int
    state_bytes: int
    facts: int
    read: list[RecordsRead]
    cluster_counts: list[ClusterCounts]
    kinds: set[str] = set()


def shard_operator(settings: Settings) -> Callable[[Any, Iterable[pd.DataFrame], Any], Iterator[pd.DataFrame]]:
    """The function for ``applyInPandasWithState``, keyed by a shard key (see ``shard_keys``)."""

    def operate(key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        tune_worker()
        shard, records = _arrived(frames)
        folded = fold(blob_of(state.get[0]) if state.exists else None, records, settings)
        kept = stored(folded.blob)
        state.update((kept,))
        read = Counter((record.topic or "", record.partition) for record in records if record.partition is not None)
        counts = [RecordsRead(topic, partition, count) for (topic, partition), count in read.items()]
        kinds = {fact.payload.fact for fact in folded.facts}
        report = ShardReport(shard, len(kept), len(folded.facts), counts, folded.cluster_counts, kinds)
        reported = OutputRow(REPORT, shard, 0, "", "", "", None, 0, _json(report))
        yield pd.DataFrame([*(fact_row(shard, fact) for fact in folded.facts), reported], columns=OutputRow._fields)

    return operate


def _arrived(frames: Iterable[pd.DataFrame]) -> tuple[int, list[Record]]:
    """The shard's number and its records in arrival order: seeds, then by partition and offset (files: by seq)."""
    parts = list(frames)
    whole = {name: np.concatenate([part[name].to_numpy() for part in parts]) for name in Record._fields}
    topics = pd.factorize(whole["topic"], sort=True)[0]
    order = np.lexsort((topics, whole["offset"], whole["partition"], whole["topic"] != SEED_TOPIC))
    columns = [_values(column[order]) for column in whole.values()]
    return int(parts[0]["shard"].iloc[0]), list(map(Record, *columns))


def _values(column: np.ndarray) -> list[Any]:
    """The rows as Python values. pandas has integers as floats if some are null."""
    values = column.tolist()
    return [None if value != value else int(value) for value in values] if column.dtype.kind == "f" else values


def fact_row(shard: int, fact: Fact) -> OutputRow:
    return OutputRow(
        FACT, shard, fact.seq, fact.payload.fact, fact.cluster, fact.group, fact.topic, fact.ts, _json(fact.payload)
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def stored(blob: bytes) -> bytes:
    """The size of the blob, and the blob compressed.

    Spark hands the state from Java to Python as text in which each byte above 127 takes two. That costs 9 ms a
    megabyte. To compress a blob and to unpack it again costs 2 ms, and 30 % of it is left.
    """
    compressed: bytes = _ZSTD.compress(blob, asbytes=True)
    return len(blob).to_bytes(_SIZE_BYTES, "big") + compressed


def blob_of(kept: bytes) -> bytes:
    """The blob of a stored state. Older checkpoints have blobs that are not compressed: these come back as they are.

    Raises StateVersionError for one that cannot be unpacked.
    """
    if kept[_SIZE_BYTES : _SIZE_BYTES + len(_FRAME)] != _FRAME:
        return kept
    size = int.from_bytes(kept[:_SIZE_BYTES], "big")
    try:
        blob: bytes = _ZSTD.decompress(memoryview(kept)[_SIZE_BYTES:], size, asbytes=True)
    except (OSError, MemoryError) as error:  # Arrow's word for damaged bytes, and what a damaged size leads to
        why = str(error) or "its size is wrong"
        raise StateVersionError(f"the checkpoint holds state that is damaged ({why}): {RESEED}") from error
    return blob


def tune_worker() -> None:
    """Tune this Python worker of Spark. Every task calls it before its work; a second call costs nothing.

    A worker serves one task after the other. Before each, ``pyspark.worker_util.setup_spark_files`` calls
    ``importlib.invalidate_caches``, and after each ``pyspark.daemon`` calls ``gc.collect``. Both took longer than the
    work. Python would read archives again in each task, 0.2 to 0.4 s for Spark's jar and pyspark.zip.
    """
    gc.disable()  # otherwise it searches thousands of groups again while they are decoded, and after each shard
    _freeze_modules()
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]


@cache
def _freeze_modules() -> None:
    """Freeze them once in a process: searching them after each task took 10 ms, as ``gc.get_freeze_count`` does."""
    gc.freeze()
