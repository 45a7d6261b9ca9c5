"""Rows of the facts table as facts again."""

from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import pyarrow as pa
from msgspec import Struct

from schemas.ddl import payload_column
from schemas.facts import PAYLOADS, Fact

_fields = cache(msgspec.structs.fields)  # looked up for every row, they take half of the time
_KINDS = {kind.fact: kind for kind in PAYLOADS}


def facts_of(rows: pa.Table) -> Iterator[Fact]:
    """One fact a row, in the order of the rows, whose columns are the fact's key and the payloads of its kinds."""
    rows = rows.set_column(rows.schema.get_field_index("ts"), "ts", _millis(rows["ts"]))
    for row in rows.to_pylist():
        kind = _KINDS[row["fact"]]
        payload = built(kind, row[payload_column(kind)])
        yield Fact(row["seq"], row["cluster"], row["group"], row["topic"], row["ts"], payload)


def _millis(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Epoch milliseconds; Spark's timestamps come without their zone, which is UTC."""
    return times.cast(pa.timestamp("ms", times.type.tz)).cast(pa.int64())


def built(kind: Any, value: Any) -> Any:
    """A value of a column as the type it was made from; a null that stands for a default is that default."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind(**{
            field.name: built(field.type, value[field.name])
            for field in _fields(kind)
            if value.get(field.name) is not None or field.required
        })  # fmt: skip
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None:
        return None
    if origin in (Union, UnionType):
        (kind,) = (argument for argument in arguments if argument is not NoneType)
        return built(kind, value)
    if origin is tuple:
        return tuple(built(arguments[0], one) for one in value)
    return dict(value) if origin is dict else value
