"""The rows that facts give in a table, column by column, by the table's definition. Facts are an Arrow table."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.facts import Payload, payload_column
from schemas.table_definition import Column, Form, Table
from schemas.tables import FACTS
from streaming.tables.arrow_types import arrow_schema, arrow_type, without_comments
from streaming.tables.fact_rows import KEY_COLUMNS

Value = Callable[[Column, pa.Table], pa.ChunkedArray]

PREVIEW_BYTES = 200
FACTS_SCHEMA = arrow_schema(FACTS)


def rows_of(table: Table, facts: pa.Table) -> pa.Table:
    """The rows that these facts give in ``table``, with its columns and types."""
    chosen, schema = _facts_of(table, facts), without_comments(arrow_schema(table))
    columns = [_VALUES[column.form](column, chosen) for column in table.columns]
    return pa.table([one.cast(field.type) for one, field in zip(columns, schema, strict=True)], schema=schema)


def _facts_of(table: Table, facts: pa.Table) -> pa.Table:
    """The facts of the table's kinds, with the columns that they fill."""
    kinds: tuple[type[Payload], ...] = table.kinds  # type: ignore[assignment]
    chosen = facts.filter(pc.is_in(facts["fact"], pa.array([kind.fact for kind in kinds])))
    chosen = chosen.select([*KEY_COLUMNS, *map(payload_column, kinds)])
    return chosen if table.needs is None else chosen.filter(pc.is_valid(_at(table.needs, chosen)))


def _at(path: str, facts: pa.Table) -> pa.ChunkedArray:
    """The values at a path such as ``queue.ended.finding``: null if there is no such struct."""
    column, *fields = path.split(".")
    return pc.struct_field(facts[column], fields) if fields else facts[column]


def _difference(column: Column, facts: pa.Table) -> pa.ChunkedArray:
    more, less = column.path.split(" - ")
    return pc.subtract(_at(more, facts), _at(less, facts))


def _filled(column: Column, facts: pa.Table) -> pa.ChunkedArray:
    texts = _at(column.path, facts)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def _text(column: Column, facts: pa.Table) -> pa.ChunkedArray:
    """Bytes as text that every reader can decode."""
    length = PREVIEW_BYTES if column.form is Form.BEGINNING else None
    values = _at(column.path, facts).to_pylist()
    texts = [None if one is None else one[:length].decode("utf-8", "replace") for one in values]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _parts(column: Column, facts: pa.Table) -> pa.ChunkedArray:
    """The structs of a list, made in Python: there are few alerts, and few groups with polls."""
    lists = _at(column.path, facts).to_pylist()
    made = [None if parts is None else [_part(column, part) for part in parts] for parts in lists]
    return pa.chunked_array([pa.array(made, arrow_type(column.type))])


def _part(column: Column, part: Mapping[str, Any]) -> dict[str, Any]:
    values = ((one, part[one.field]) for one in column.parts)
    return {one.name: _micros(value) if one.form is Form.TIME else value for one, value in values}


def _micros(millis: Any) -> Any:
    if isinstance(millis, list):
        return [_micros(one) for one in millis]
    return None if millis is None else millis * 1000


_VALUES: dict[Form, Value] = {
    Form.SAME: lambda column, facts: _at(column.path, facts),
    Form.TIME: lambda column, facts: _at(column.path, facts).cast(pa.timestamp("ms", "UTC")),
    Form.PARTS: _parts,
    Form.FILLED: _filled,
    Form.TEXT: _text,
    Form.BEGINNING: _text,
    Form.DIFFERENCE: _difference,
}
