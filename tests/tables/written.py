"""A facts table as the job leaves it, written in milliseconds: the same columns and types, by way of Arrow."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa
from deltalake import write_deltalake
from msgspec import Struct

from schemas.ddl import payload_column
from schemas.facts import PAYLOADS, Fact

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
PLAIN = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), bytes: pa.binary()}


def arrow_type(annotation: Any) -> pa.DataType:
    """What Spark writes for the SQL type of an annotation (``schemas.ddl.sql_type``)."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return pa.string()
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        hints = get_type_hints(annotation)
        return pa.struct({name: arrow_type(hints[name]) for name in annotation.__struct_fields__})
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return arrow_type(next(argument for argument in arguments if argument is not NoneType))
    if origin is dict:
        return pa.map_(*map(arrow_type, arguments))
    return pa.list_(arrow_type(arguments[0]))


SCHEMA = pa.schema({
    "identity": pa.string(), "shard": pa.int32(), "seq": pa.int64(),
    **dict.fromkeys(("fact", "cluster", "group", "topic"), pa.string()),
    "ts": pa.timestamp("us", "UTC"), "date": pa.date32(),
    **{payload_column(kind): arrow_type(kind) for kind in PAYLOADS},
})  # fmt: skip


def commit(path: Path, facts: Iterable[Fact], identity: str = "one") -> None:
    """Append the facts to the table at ``path``."""
    rows = []
    for fact in facts:
        when = EPOCH + timedelta(milliseconds=fact.ts)
        rows.append({
            "identity": identity, "shard": 0, "seq": fact.seq, "fact": fact.payload.fact, "cluster": fact.cluster,
            "group": fact.group, "topic": fact.topic, "ts": when, "date": when.date(),
            payload_column(type(fact.payload)): msgspec.to_builtins(fact.payload),
        })  # fmt: skip
    write_deltalake(path, pa.Table.from_pylist(rows, SCHEMA), mode="append", partition_by=["date"])
