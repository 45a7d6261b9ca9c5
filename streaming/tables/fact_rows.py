"""Rows of the tables as facts again: of the facts table, and of tables that have the fields of a fact."""

from collections.abc import Callable, Iterator
from functools import cache
from sys import intern
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import Struct

from schemas.facts import PAYLOADS, Fact, payload_column
from schemas.table_definition import Column, Form, Table
from streaming.tables.query import millis

KEY_COLUMNS = ["fact", "seq", "cluster", "group", "topic", "ts"]

_KINDS = {kind.fact: kind for kind in PAYLOADS}


def facts_of(rows: pa.Table) -> Iterator[Fact]:
    """One fact a row, in the order of the rows, whose columns are the fact's key and the payloads of its kinds."""
    times = rows["ts"].cast(pa.timestamp("ms", rows["ts"].type.tz))  # Spark's come without their zone, which is UTC
    rows = rows.set_column(rows.schema.get_field_index("ts"), "ts", times.cast(pa.int64()))
    for row in rows.to_pylist():
        kind = _KINDS[row["fact"]]
        payload = built(kind, row[payload_column(kind)])
        topic = row["topic"] and intern(row["topic"])
        yield Fact(row["seq"], intern(row["cluster"]), intern(row["group"]), topic, row["ts"], payload)


def facts_in(table: Table, rows: pa.Table) -> Iterator[Fact]:
    """The facts that made these rows of the table, in their order. A table without ``seq`` has facts of no group."""
    (kind,) = table.kinds
    columns = [one for one in table.columns if one.path == f"{payload_column(kind)}.{one.field}"]  # type: ignore[arg-type]
    for row in rows.to_pylist():
        ts = millis(row["ts"])
        payload = built(kind, {one.field: _of_fact(one, row.get(one.name)) for one in columns})
        group, topic = row.get("consumer_group") or "", row.get("topic") or None
        yield Fact(row.get("seq", ts), intern(row["cluster"]), intern(group), topic and intern(topic), ts, payload)


def _of_fact(column: Column, value: Any) -> Any:
    """The field's value. Times are whole milliseconds in facts."""
    if value is None or column.form not in (Form.TIME, Form.PARTS):
        return value
    if column.form is Form.PARTS:
        return [{one.field: _of_fact(one, part.get(one.name)) for one in column.parts} for part in value]
    return [millis(one) for one in value] if isinstance(value, list) else millis(value)


def built(kind: Any, value: Any) -> Any:
    """A column's value as ``kind``. A null becomes the field's default, or what is empty where it may not be null."""
    make = _maker(kind)
    return value if make is None or value is None else make(value)


@cache  # of a group's thousands of facts, to look at the types took most of the time
def _maker(kind: Any) -> Callable[[Any], Any] | None:
    """The function that converts a value; None: it has the right type already.

    Equal texts are one object. Each fact has its own otherwise, and half of what a process that keeps facts has of
    texts would be names of brokers, clients and strategies that it has many times.
    """
    if kind is str:
        return intern
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
    hints = get_type_hints(kind)
    fields = [
        (field.name, _maker(hints[field.name]), field.required, _empty(hints[field.name]))
        for field in msgspec.structs.fields(kind)
    ]

    def make(value: Any) -> Any:
        given = {}
        for name, make_field, required, empty in fields:
            said = value.get(name)
            if said is not None:
                given[name] = said if make_field is None else make_field(said)
            elif required:
                given[name] = empty
        return kind(**given)

    return make


def _empty(annotation: Any) -> Any:
    """The value of a field that an older table lacks: None, or what is empty where it may not be None."""
    if get_origin(annotation) in (Union, UnionType):
        return None
    made = get_origin(annotation) or annotation
    return made() if made in (tuple, dict, str, int) else None
