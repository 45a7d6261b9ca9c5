"""The expiry of rows in tables in which the newest row of each key stays valid, also when it is old."""

from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from schemas.table_definition import Table
from streaming.projections.table import numbered, without
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.own_memory import unsliced


def drop_superseded(opened: DeltaTable, table: Table, day: str) -> int:
    """Drop the rows of ``day`` for which the table has a newer row. Return their number."""
    keys = list(table.keep_newest_of)
    rows = opened.to_pyarrow_table(filters=[("date", "=", date.fromisoformat(day))])
    pairs = numbered(rows, keys, "row", "seq").join(_newest(opened, table), keys, join_type="inner", use_threads=False)
    over = pairs.filter(pc.less(pairs["seq"], pairs["newest_seq"]))["row"]
    if len(over) == rows.num_rows:
        opened.delete(f"date = '{day}'")
    elif len(over):
        kept = without(rows.cast(arrow_schema(table)), over)
        write_deltalake(opened, unsliced(kept), mode="overwrite", predicate=f"date = '{day}'")
    return len(over)


def _newest(opened: DeltaTable, table: Table) -> pa.Table:
    keys = ", ".join(table.keep_newest_of)
    sql = f"SELECT {keys}, max(seq) AS newest_seq FROM rows GROUP BY {keys}"
    found = pa.table(QueryBuilder().register("rows", opened).execute(sql))
    return found.cast(pa.schema([*((key, pa.string()) for key in table.keep_newest_of), ("newest_seq", pa.int64())]))
