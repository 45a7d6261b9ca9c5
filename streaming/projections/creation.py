"""Delta tables from their plain definitions, comments included."""

from collections.abc import Iterable

import pyarrow as pa
from deltalake import DeltaTable, Schema

from schemas.history_tables import NOTIFICATIONS
from schemas.table_definition import Table
from schemas.tables import PROJECTIONS
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.delta_properties import delta_properties
from streaming.tables.storage import delta_uri


def create_tables(tables: str, wanted: Iterable[Table] = (*PROJECTIONS, NOTIFICATIONS)) -> None:
    """Those that are not there yet. Others get the columns and properties that an older evenkeel did not know."""
    for table in wanted:
        create_table(delta_uri(f"{tables}/{table.name}"), table)


def create_table(path: str, table: Table) -> None:
    schema = arrow_schema(table)
    if not DeltaTable.is_deltatable(path):
        DeltaTable.create(
            path,
            schema,
            mode="ignore",
            partition_by=list(table.partitioned_by),
            name=table.name,
            description=table.comment,
            configuration=delta_properties(table),
        )
        return
    known = DeltaTable(path)
    missing = [field for field in schema if _lacks(pa.schema(known.schema().to_arrow()), field)]
    if missing:
        known.alter.add_columns(list(Schema.from_arrow(pa.schema(missing)).fields))
    said = known.metadata().configuration
    changed = {name: value for name, value in delta_properties(table).items() if said.get(name) != value}
    if changed:
        known.alter.set_table_properties(changed)


def _lacks(known: pa.Schema, field: pa.Field) -> bool:
    """Whether the column is missing, or a field of a struct in it. Fields that only an older evenkeel had stay."""
    at = known.get_field_index(field.name)
    return at < 0 or _lacks_field(known.field(at).type, field.type)


def _lacks_field(known: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted):
        return pa.types.is_list(known) and _lacks_field(known.value_type, wanted.value_type)
    if not pa.types.is_struct(wanted) or not pa.types.is_struct(known):
        return False
    at = {field.name: field.type for field in known}
    return any(field.name not in at or _lacks_field(at[field.name], field.type) for field in wanted)
