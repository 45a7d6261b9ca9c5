"""The rows of the stateful operator: one for each fact, and one for each call with a report of what the call did."""

from typing import NamedTuple, get_type_hints

import msgspec
from msgspec import Struct

from schemas.ddl import sql_type
from schemas.facts import Fact
from streaming.core.shard import ClusterCounts

FACT, REPORT = "fact", "report"


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


class OffsetRange(Struct, frozen=True):
    """The records of one topic partition that one call read; ``newest`` is their last offset."""

    topic: str
    partition: int
    records: int
    oldest: int
    newest: int


class ShardReport(Struct, frozen=True):
    """The report of one call: the records it read, the size of the shard's state, and the core's counts."""

    shard: int
    state_bytes: int
    facts: int
    read: list[OffsetRange]
    cluster_counts: list[ClusterCounts]


def fact_row(shard: int, fact: Fact) -> OutputRow:
    return OutputRow(
        FACT, shard, fact.seq, fact.payload.fact, fact.cluster, fact.group, fact.topic, fact.ts, _json(fact.payload)
    )


def report_row(report: ShardReport) -> OutputRow:
    return OutputRow(REPORT, report.shard, 0, "", "", "", None, 0, _json(report))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
