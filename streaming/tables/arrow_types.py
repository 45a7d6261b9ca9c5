"""Arrow's types of the tables' columns, which are defined with Spark SQL's; Arrow rows as deltalake can write them."""

from collections.abc import Iterator

import pyarrow as pa

from schemas.table_definition import Table

_PLAIN = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "BINARY": pa.binary(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "DATE": pa.date32(),
}


def arrow_schema(table: Table) -> pa.Schema:
    return pa.schema(
        [pa.field(one.name, arrow_type(one.type), metadata={"comment": one.comment}) for one in table.columns]
    )


def without_comments(schema: pa.Schema) -> pa.Schema:
    """For rows of an existing table: it keeps its comments, and Delta refuses rows whose columns have other ones."""
    return pa.schema([field.remove_metadata() for field in schema])


def arrow_type(sql_type: str) -> pa.DataType:
    """``ARRAY<STRUCT<a:BIGINT>>`` and the like; KeyError for a type that no table has."""
    name, _, inner = sql_type.partition("<")
    if not inner:
        return _PLAIN[name]
    parts = list(_parts(inner.removesuffix(">")))
    if name == "ARRAY":
        return pa.list_(arrow_type(parts[0]))
    return pa.map_(*map(arrow_type, parts)) if name == "MAP" else pa.struct(list(map(_field, parts)))


def _field(part: str) -> pa.Field:
    name, _, sql_type = part.partition(":")
    return pa.field(name.strip("`"), arrow_type(sql_type))


def _parts(inner: str) -> Iterator[str]:
    """Split at the commas that are not within a type."""
    depth = begin = 0
    for index, character in enumerate(inner):
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            yield inner[begin:index]
            begin = index + 1
    yield inner[begin:]


def unsliced(rows: pa.Table) -> pa.Table:
    """The rows with their own memory. Only pieces of nested columns that begin inside a longer one are copied.

    deltalake 1.6 aborts the process when it is given a slice of a struct column: it counts the slice's offset twice
    (arrow-rs, pull request 10835). pyarrow reads a file in pieces of 131,072 rows, which are such slices.
    """
    columns = [_unsliced(one) if pa.types.is_nested(one.type) else one for one in rows.itercolumns()]
    return pa.table(columns, schema=rows.schema)


def _unsliced(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """``concat_arrays`` copies, even a single array; ``combine_chunks`` does not."""
    return pa.chunked_array([pa.concat_arrays([one]) if one.offset else one for one in column.chunks], column.type)
