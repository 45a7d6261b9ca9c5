"""The one stateful operator: a shard's records and its blob go through ``fold``; facts and a report come out.

Nothing here knows the domain. Rows of kind ``fact`` carry one fact each; one row of kind ``report`` a call says
what was read, how large the shard's state is and what core tallied, so that the driver can account for it.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Struct

from streaming.core.settings import Settings
from streaming.core.shard import Folded, Record, Tally, fold

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
    tallies: list[Tally]


def shard_operator(settings: Settings) -> Callable[[Any, Iterable[pd.DataFrame], Any], Iterator[pd.DataFrame]]:
    """The function for ``applyInPandasWithState``, keyed by a shard key (see ``sources``)."""

    def operate(key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        with _no_collections():
            shard, records = _arrived(frames)
            folded = fold(state.get[0] if state.exists else None, records, settings)
        state.update((folded.blob,))
        yield _output(shard, folded, _spans(records))

    return operate


@contextmanager
def _no_collections() -> Iterator[None]:
    """Python's collector looks at everything alive again and again while thousands of groups are decoded: it took ten
    times as long as decoding. What core makes holds no cycles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _arrived(frames: Iterable[pd.DataFrame]) -> tuple[int, list[Record]]:
    """The shard's number and its records in arrival order: seeds, then by partition and offset (files: by seq)."""
    frame = pd.concat(frames, ignore_index=True)
    topics = pd.factorize(frame["topic"], sort=True)[0]
    order = np.lexsort((topics, frame["offset"], frame["partition"]))
    columns = [frame[name].to_numpy()[order].tolist() for name in Record._fields]
    columns[4] = [None if ts < 0 else ts for ts in columns[4]]
    columns[6] = [None if partition < 0 else partition for partition in columns[6]]
    return int(frame["shard"].iloc[0]), list(map(Record, *columns))


def _spans(records: list[Record]) -> list[Span]:
    """How many records of each partition were read, and between which offsets; records are in arrival order."""
    spans = []
    for (topic, partition), run in groupby(records, key=lambda record: (record.topic, record.partition)):
        if partition is not None:
            offsets = [record.offset or 0 for record in run]
            spans.append(Span(topic, partition, len(offsets), offsets[0], offsets[-1]))
    return spans


def _output(shard: int, folded: Folded, spans: list[Span]) -> pd.DataFrame:
    report = ShardReport(shard, len(folded.blob), len(folded.facts), spans, folded.tallies)
    rows = [
        ("fact", shard, f.seq, f.payload.fact, f.cluster, f.group, f.topic, f.ts, _encode(f.payload).decode())
        for f in folded.facts
    ]
    rows.append(("report", shard, 0, "", "", "", None, 0, _encode(report).decode()))
    return pd.DataFrame(rows, columns=_COLUMNS)
