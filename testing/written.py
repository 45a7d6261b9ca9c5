"""A facts table as the job leaves it, written in milliseconds: the same columns and types, by way of Arrow."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from deltalake import write_deltalake

from schemas.facts import PAYLOADS, Fact, payload_column
from schemas.tables import FACTS
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.fact_rows import built

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = arrow_schema(FACTS)
KINDS = {kind.fact: kind for kind in PAYLOADS}


def commit(path: Path, facts: Iterable[Fact], identity: str = "one") -> None:
    """Append the facts to the table at ``path``."""
    write_deltalake(path, rows_of_facts(facts, identity), mode="append", partition_by=["date"])


def fact_of(row: dict[str, Any]) -> Fact:
    """A row of the table, as deltalake reads it."""
    kind = KINDS[row["fact"]]
    ts = (row["ts"] - EPOCH) // timedelta(milliseconds=1)
    return Fact(row["seq"], row["cluster"], row["group"], row["topic"], ts, built(kind, row[payload_column(kind)]))


def rows_of_facts(facts: Iterable[Fact], identity: str = "one") -> pa.Table:
    rows = []
    for fact in facts:
        when = EPOCH + timedelta(milliseconds=fact.ts)
        rows.append({
            "identity": identity, "shard": 0, "seq": fact.seq, "fact": fact.payload.fact, "cluster": fact.cluster,
            "group": fact.group, "topic": fact.topic, "ts": when, "date": when.date(),
            payload_column(type(fact.payload)): msgspec.to_builtins(fact.payload, builtin_types=(bytes,)),
        })  # fmt: skip
    return pa.Table.from_pylist(rows, SCHEMA)
