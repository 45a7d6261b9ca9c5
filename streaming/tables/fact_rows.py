"""Rows of the facts table as facts again."""

from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import pyarrow as pa
from msgspec import Struct

from schemas.ddl import payload_column
from schemas.facts import PAYLOADS, Fact

KEY_COLUMNS = ["fact", "seq", "cluster", "group", "topic", "ts"]

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
    """A column's value as ``kind``. A null becomes the field's default, if it has one."""
    make = _maker(kind)
    return value if make is None or value is None else make(value)


@cache  # of a group's thousands of facts, to look at the types took most of the time
def _maker(kind: Any) -> Callable[[Any], Any] | None:
    """The function that converts a value; None: it has the right type already."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _struct_maker(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (present,) = (argument for argument in arguments if argument is not NoneType)
        return _maker(present)
    if origin is tuple:
        make = _maker(arguments[0])
        return tuple if make is None else lambda value: tuple(map(make, value))
    return dict if origin is dict else None


def _struct_maker(kind: type[Struct]) -> Callable[[Any], Any]:
    fields = [(field.name, _maker(field.type), field.required) for field in msgspec.structs.fields(kind)]

    def make(value: Any) -> Any:
        given = {}
        for name, make_field, required in fields:
            said = value.get(name)
            if said is not None:
                given[name] = said if make_field is None else make_field(said)
            elif required:
                given[name] = None
        return kind(**given)

    return make
