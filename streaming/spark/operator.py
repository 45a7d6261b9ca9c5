"""The one stateful operator: a shard's records and its blob go through ``fold``; facts and a report come out.

Nothing here knows the domain.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from streaming.core.settings import Settings
from streaming.core.shard import Record, fold
from streaming.core.state.restore import SEED_TOPIC
from streaming.spark.operator_output import OffsetRange, OutputRow, ShardReport, fact_row, report_row
from streaming.spark.stored_state import blob_of, stored
from streaming.spark.worker_tuning import tune_worker

STATE_SCHEMA = "blob BINARY"  # one binary column: array-typed state fails on the second batch


def shard_operator(settings: Settings) -> Callable[[Any, Iterable[pd.DataFrame], Any], Iterator[pd.DataFrame]]:
    """The function for ``applyInPandasWithState``, keyed by a shard key (see ``shard_keys``)."""

    def operate(key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        tune_worker()
        shard, records = _arrived(frames)
        folded = fold(blob_of(state.get[0]) if state.exists else None, records, settings)
        kept = stored(folded.blob)
        state.update((kept,))
        read = _offset_ranges(records)
        report = ShardReport(shard, len(kept), len(folded.facts), read, folded.cluster_counts)
        rows = [*(fact_row(shard, fact) for fact in folded.facts), report_row(report)]
        yield pd.DataFrame(rows, columns=OutputRow._fields)

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


def _offset_ranges(records: list[Record]) -> list[OffsetRange]:
    """The number of records read of each partition, and their offsets. Records are in arrival order."""
    ranges = []
    for (topic, partition), run in groupby(records, key=lambda record: (record.topic, record.partition)):
        if partition is not None:
            offsets = [record.offset or 0 for record in run]
            ranges.append(OffsetRange(topic, partition, len(offsets), offsets[0], offsets[-1]))
    return ranges
