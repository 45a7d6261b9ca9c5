"""Rows whose columns are no slices of other columns."""

import pyarrow as pa


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
