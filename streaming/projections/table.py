"""A projection as a Delta table: appends that are done only once, and merges in which the larger ``seq`` counts.

Merges are computed here, and the table is overwritten. deltalake's own MERGE, DELETE and UPDATE of rows write files
whose strings pyarrow 25 cannot filter by (``string_view``), and take more processor time.
"""

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from schemas.table_definition import Table
from streaming.tables.arrow_types import unsliced
from streaming.tables.conflicts import retried
from streaming.tables.storage import delta_uri

# Opening a table reads its log from the last checkpoint on: from an object store two requests a commit. A table that
# stays open does not. It is opened again just after a checkpoint, because what it remembers of its log grows.
OPENED_EVERY = 100  # commits


class ProjectionTable:
    def __init__(self, tables: str, table: Table) -> None:
        self._definition = table
        self._path = delta_uri(f"{tables}/{table.name}")
        self._opened: DeltaTable | None = None

    def has(self, identity: str, batch_id: int) -> bool:
        """True if this batch or a later one was appended."""
        newest = self._table().transaction_version(identity)
        return newest is not None and newest >= batch_id

    def append(self, rows: pa.Table, identity: str, batch_id: int) -> None:
        """Append rows. The commit has the batch's number, which Delta keeps as long as the table, even without
        its log.
        """
        said = CommitProperties(app_transactions=[Transaction(identity, batch_id)])
        self._retried(partial(self._append, rows, said))

    def _append(self, rows: pa.Table, said: CommitProperties, table: DeltaTable) -> None:
        """Another evenkeel may have added columns to the table: deltalake wants them all, and they are null here."""
        for field in pa.schema(table.schema().to_arrow()):
            if field.name not in rows.schema.names:
                rows = rows.append_column(field.name, pa.nulls(rows.num_rows, field.type))
        write_deltalake(table, unsliced(rows), mode="append", commit_properties=said)

    def merge(self, rows: pa.Table) -> None:
        """Apply rows, one for each key, whose ``seq`` is larger than that in the table."""
        self._retried(partial(self._merge, rows))

    def _merge(self, rows: pa.Table, table: DeltaTable) -> None:
        table.update_incremental()
        overwrite(table, merged(all_rows(table), rows, self._definition))

    def _retried(self, commit: Callable[[DeltaTable], None]) -> None:
        def attempt() -> None:
            try:
                commit(self._table())
            except CommitFailedError:
                self._opened = None  # what the other commit has changed is read
                raise

        retried(attempt)

    def _table(self) -> DeltaTable:
        if self._opened is None or self._opened.version() % OPENED_EVERY == 0:
            self._opened = DeltaTable(self._path)
        return self._opened


def all_rows(table: DeltaTable) -> pa.Table:
    rows = table.to_pyarrow_table()
    return rows.cast(pa.schema(table.schema().to_arrow()))


def overwrite(table: DeltaTable, rows: pa.Table) -> None:
    """Replace all rows. Raises CommitFailedError if another process has written since ``table`` was opened.

    deltalake ignores another's compaction: tables that are overwritten must never be compacted.
    """
    write_deltalake(table, unsliced(rows), mode="overwrite")


def newest(rows: pa.Table, table: Table) -> pa.Table:
    """The row with the largest ``seq`` for each key."""
    keys = list(table.merge_keys)
    ordered = numbered(rows, keys, "row").take(pc.sort_indices(rows, sort_keys=[("seq", "ascending")]))
    last = ordered.group_by(keys, use_threads=False).aggregate([("row", "last")])
    return rows.take(last["row_last"])


def merged(known: pa.Table, rows: pa.Table, table: Table) -> pa.Table:
    """The row with the larger ``seq`` for each key."""
    keys = list(table.merge_keys)
    pairs = numbered(known, keys, "known_row", "known_seq").join(
        numbered(rows, keys, "row", "seq"), keys, join_type="inner", use_threads=False
    )
    is_newer = pc.greater(pairs["seq"], pairs["known_seq"])
    replaced, refused = pairs.filter(is_newer)["known_row"], pairs.filter(pc.invert(is_newer))["row"]
    return pa.concat_tables([without(known, replaced), without(rows, refused)], promote_options="default")


def without(rows: pa.Table, numbers: pa.ChunkedArray) -> pa.Table:
    """All rows except those with these numbers."""
    all_numbers = pa.array(range(rows.num_rows), pa.int64())
    return rows.filter(pc.invert(pc.is_in(all_numbers, numbers.combine_chunks()))) if len(numbers) else rows


def numbered(rows: pa.Table, keys: list[str], number: str, seq: str | None = None) -> pa.Table:
    """The keys of rows with their numbers, for a join."""
    columns = {key: rows[key] for key in keys} | ({seq: rows["seq"]} if seq else {})
    return pa.table(columns | {number: pa.array(range(rows.num_rows), pa.int64())})
