"""Creates Delta tables from their plain definitions, and brings those of an older evenkeel up to date, by deltalake.

``facts`` is created by Spark (``streaming/spark/facts.py``), by the same definitions and properties.
"""

from collections.abc import Iterable
from functools import partial

import pyarrow as pa
from deltalake import DeltaTable, Schema

from schemas.table_definition import Table
from schemas.tables import CURRENT, FACTS, NOTIFICATIONS, PROJECTIONS
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.conflicts import retried
from streaming.tables.storage import delta_uri
from streaming.tables.version import take_tables

_COMMON = {
    "delta.enableDeletionVectors": "false",  # so that engines without a JVM can read the table
}
# How long a stream that reads the table may be down. Maintenance shortens the log of what all have read much further.
_APPENDED = _COMMON | {
    "delta.checkpointInterval": "100",  # each makes the append that writes it a second longer
    "delta.logRetentionDuration": "interval 7 days",
    "delta.deletedFileRetentionDuration": "interval 2 days",
}
# No stream reads these. Every batch of the projections replaces the table's file, which goes as soon as no query can be
# using it.
_MERGED = _COMMON | {
    "delta.checkpointInterval": "10",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 30 minutes",
}
# The log has statistics of the columns that readers filter by. Those of all columns are 4.6 KB for each file of
# `alerts`, and each program that opens the table reads them. The structs of `facts` have more columns than Delta would
# keep statistics for.
_STATISTICS = "delta.dataSkippingStatsColumns"
_FILTERED = ("seq", "cluster", "consumer_group", "ts", "from_time", "to_time")
_FACTS = _APPENDED | {_STATISTICS: "seq,fact,cluster,`group`,topic,ts"}


def delta_properties(table: Table) -> dict[str, str]:
    if table is FACTS:
        return _FACTS
    if table in CURRENT:
        return _MERGED
    names = {column.name for column in table.columns}
    return _APPENDED | {_STATISTICS: ",".join(name for name in _FILTERED if name in names)}


def create_tables(tables: str, wanted: Iterable[Table] = (*PROJECTIONS, NOTIFICATIONS)) -> None:
    """Creates the tables that are missing, and brings the others up to date. Raises CheckpointError for newer ones."""
    take_tables(tables)
    for table in wanted:
        create_table(delta_uri(f"{tables}/{table.name}"), table)


def create_table(path: str, table: Table) -> None:
    """Creates the table, or brings it up to date. Another process may do the same, or write to it, meanwhile."""
    if not DeltaTable.is_deltatable(path):
        DeltaTable.create(
            path,
            arrow_schema(table),
            mode="ignore",
            partition_by=list(table.partitioned_by),
            name=table.name,
            description=table.comment,
            configuration=delta_properties(table),
        )
        return
    for step in (_add_columns, _set_properties):
        retried(partial(step, path, table))


def _add_columns(path: str, table: Table) -> None:
    opened = DeltaTable(path)
    known = pa.schema(opened.schema().to_arrow())
    missing = [_with_comment_of(known, field) for field in missing_columns(known, table)]
    if missing:
        opened.alter.add_columns(list(Schema.from_arrow(pa.schema(missing)).fields))


def _with_comment_of(known: pa.Schema, field: pa.Field) -> pa.Field:
    """A column that is there keeps its comment: Delta refuses to add fields to a struct under another one."""
    return field.with_metadata(known.field(field.name).metadata) if field.name in known.names else field


def _set_properties(path: str, table: Table) -> None:
    opened = DeltaTable(path)
    known = opened.metadata().configuration
    changed = {name: value for name, value in delta_properties(table).items() if known.get(name) != value}
    if changed:
        opened.alter.set_table_properties(changed)


def missing_columns(known: pa.Schema, table: Table) -> list[pa.Field]:
    """The columns that are missing, or of which a field of a struct is."""
    wanted = arrow_schema(table)
    old = {field.name: field.type for field in known}
    return [field for field in wanted if field.name not in old or _lacks_field(old[field.name], field.type)]


def _lacks_field(known: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted):
        return pa.types.is_list(known) and _lacks_field(known.value_type, wanted.value_type)
    if not pa.types.is_struct(wanted) or not pa.types.is_struct(known):
        return False
    at = {field.name: field.type for field in known}
    return any(field.name not in at or _lacks_field(at[field.name], field.type) for field in wanted)
