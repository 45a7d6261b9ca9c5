"""The one stateful operator: a shard's records and its blob go through ``fold``; facts and a report come out.

Nothing here knows the domain. Rows of kind ``fact`` carry one fact each; one row of kind ``report`` a call says
what was read, how large the shard's state is and what core tallied, so that the driver can account for it.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Struct

from streaming.core.settings import Settings
from streaming.core.shard import ClusterCounts, Folded, Record, fold
from streaming.spark.worker import break_habits

STATE_SCHEMA = "blob BINARY"  # one binary column: array-typed state fails on the second batch
OUTPUT_SCHEMA = (
    "kind STRING, shard INT, seq BIGINT, fact STRING, cluster STRING, `group` STRING, topic STRING,"
    " ts BIGINT, payload STRING"
)
_COLUMNS = ["kind", "shard", "seq", "fact", "cluster", "group", "topic", "ts", "payload"]
_encode = msgspec.json.encode


class Span(Struct, frozen=True):
    """The records of one topic partition that one call read; ``newest`` is their last offset."""

    topic: str
    partition: int
    records: int
    oldest: int
    newest: int


class ShardReport(Struct, frozen=True):
    """What one call did."""

    shard: int
    state_bytes: int
    facts: int
    spans: list[Span]
    cluster_counts: list[ClusterCounts]


def shard_operator(settings: Settings) -> Callable[[Any, Iterable[pd.DataFrame], Any], Iterator[pd.DataFrame]]:
    """The function for ``applyInPandasWithState``, keyed by a shard key (see ``sources``)."""

    def operate(key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        break_habits()
        shard, records = _arrived(frames)
        folded = fold(state.get[0] if state.exists else None, records, settings)
        state.update((folded.blob,))
        yield _output(shard, folded, _spans(records))

    return operate


def _arrived(frames: Iterable[pd.DataFrame]) -> tuple[int, list[Record]]:
    """The shard's number and its records in arrival order: seeds, then by partition and offset (files: by seq)."""
    parts = list(frames)
    whole = {name: np.concatenate([part[name].to_numpy() for part in parts]) for name in Record._fields}
    topics = pd.factorize(whole["topic"], sort=True)[0]
    order = np.lexsort((topics, whole["offset"], whole["partition"]))
    columns = [column[order].tolist() for column in whole.values()]
    columns[4] = [None if ts < 0 else ts for ts in columns[4]]
    columns[6] = [None if partition < 0 else partition for partition in columns[6]]
    return int(parts[0]["shard"].iloc[0]), list(map(Record, *columns))


def _spans(records: list[Record]) -> list[Span]:
    """How many records of each partition were read, and between which offsets; records are in arrival order."""
    spans = []
    for (topic, partition), run in groupby(records, key=lambda record: (record.topic, record.partition)):
        if partition is not None:
            offsets = [record.offset or 0 for record in run]
            spans.append(Span(topic, partition, len(offsets), offsets[0], offsets[-1]))
    return spans


def _output(shard: int, folded: Folded, spans: list[Span]) -> pd.DataFrame:
    report = ShardReport(shard, len(folded.blob), len(folded.facts), spans, folded.cluster_counts)
    rows = [
        ("fact", shard, f.seq, f.payload.fact, f.cluster, f.group, f.topic, f.ts, _encode(f.payload).decode())
        for f in folded.facts
    ]
    rows.append(("report", shard, 0, "", "", "", None, 0, _encode(report).decode()))
    return pd.DataFrame(rows, columns=_COLUMNS)
