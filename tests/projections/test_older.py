"""What an older evenkeel has left: tables and facts that lack columns."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from schemas.tables import ALERTS, FACTS, GROUP_MEMBERS, PROJECTIONS
from streaming.projections.columns import rows_of
from streaming.projections.maintain import drop_superseded
from streaming.projections.projector import run_projections
from streaming.projections.table import ProjectionTable
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.creation import create_table, delta_properties
from testing.written import commit, rows_of_facts
from tests.projections.golden_files import golden_facts
from tests.projections.story import START, all_rows, read, three_days
from tests.tables.telling import Teller

pytestmark = pytest.mark.slow("many commits are written")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Two days are in the tables; facts of the third are there."""
    folder = tmp_path / "tables"
    for day in three_days()[:2]:
        commit(folder / "facts", day)
    run_projections(str(folder))
    commit(folder / "facts", three_days()[2])
    return folder


def without(kind: pa.DataType, name: str) -> pa.DataType:
    """The type without a field of this name, however deep."""
    if pa.types.is_list(kind):
        return pa.list_(without(kind.value_type, name))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, without(field.type, name)) for field in kind if field.name != name])
    return kind


def test_columns_and_fields_that_a_table_lacks_are_added_with_their_comments(tmp_path: Path) -> None:
    path, known = tmp_path / "alerts", arrow_schema(ALERTS)
    older = pa.schema(
        [field.with_type(without(field.type, "waiting")) for field in known if field.name not in ("clients", "waiting")]
    )
    row = {"kind": "ORPHANED", "queues": [{"broker_name": "a", "queue_id": 1}], "seq": 1}
    write_deltalake(path, pa.Table.from_pylist([row], older), partition_by=["date"])
    create_table(str(path), ALERTS)
    schema = DeltaTable(path).schema()
    now = pa.schema(schema.to_arrow())
    assert in_any_order(pa.struct(list(now))) == in_any_order(pa.struct(list(known)))
    comments = {field.name: field.metadata.get("comment") for field in schema.fields}
    assert comments == {column.name: column.comment for column in ALERTS.columns}
    version = DeltaTable(path).version()
    create_table(str(path), ALERTS)
    assert DeltaTable(path).version() == version, "nothing is missing any more"


def in_any_order(kind: pa.DataType) -> object:
    if pa.types.is_list(kind):
        return ["list", in_any_order(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: in_any_order(field.type) for field in kind}
    return kind


def test_values_go_by_the_names_of_fields_that_come_in_another_order(tmp_path: Path) -> None:
    """As they do once fields were added."""
    known = arrow_schema(ALERTS)
    turned = pa.schema([field.with_type(reversed_fields(field.type)) for field in reversed(known)])
    DeltaTable.create(str(tmp_path / "alerts"), turned, partition_by=["date"])
    rows = rows_of(ALERTS, rows_of_facts(golden_facts()))
    ProjectionTable(str(tmp_path), ALERTS).append(rows, "x", 0)
    written = DeltaTable(tmp_path / "alerts").to_pyarrow_table().to_pylist()
    assert sorted(written, key=lambda row: (row["ts"], row["seq"])) == sorted(
        rows.to_pylist(), key=lambda row: (row["ts"], row["seq"])
    )


def reversed_fields(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(reversed_fields(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, reversed_fields(field.type)) for field in reversed(list(kind))])
    return kind


def test_facts_of_an_older_evenkeel_have_null_where_they_say_nothing(tmp_path: Path) -> None:
    facts = [
        Teller().membership(START, "a"),
        Teller().alert(START, "firing"),
        Teller().queue(START, 0, "UNKNOWN", reason="NO_ANSWER"),
        Teller().status(START, "unknown"),
    ]
    older = pa.schema([field for field in arrow_schema(FACTS) if field.name != "health"])
    for name in ("first_seen", "observed", "start_ts", "reason_details"):
        older = pa.schema([field.with_type(without(field.type, name)) for field in older])
    narrow = pa.Table.from_pylist(rows_of_facts(facts).to_pylist(), older)
    write_deltalake(tmp_path / "facts", narrow, partition_by=["date"])
    run_projections(str(tmp_path))
    (change,) = read(tmp_path, "membership_changes")
    (alert,) = read(tmp_path, "alerts")
    (queue,), (status,) = read(tmp_path, "queue_assignments"), read(tmp_path, "group_status")
    assert (queue["reason"], queue["reason_details"], status["reason_details"]) == ("NO_ANSWER", None, None)
    assert (change["client_id"], change["first_seen"]) == ("a", None)
    assert (alert["observed"], alert["clients"][0]["start_times"], alert["queues"][0]["waiting"]) == (None, None, 7)


def test_tables_whose_columns_have_other_comments_are_written_to(finished: Path, tables: Path) -> None:
    """Delta refuses rows whose columns have other comments than the table's."""
    for table in PROJECTIONS:
        for column in table.columns:
            DeltaTable(tables / table.name).alter.set_column_metadata(column.name, {"comment": "as it was"})
    run_projections(str(tables))
    assert all_rows(tables) == all_rows(finished)
    (comment,) = {field.metadata["comment"] for field in DeltaTable(tables / "group_members").schema().fields}
    assert comment == "as it was"


def test_tables_that_another_evenkeel_gave_more_columns_are_written_to_and_maintained(
    finished: Path, tables: Path
) -> None:
    """As 0.2.0 left ``evidence`` in ``alerts``."""
    more = Schema.from_arrow(pa.schema([pa.field("more", pa.string())]))
    for table in PROJECTIONS:
        DeltaTable(tables / table.name).alter.add_columns(list(more.fields))
    commit(tables / "facts", [Teller(group="audit").alert(START, "firing")])
    run_projections(str(tables))
    for table in PROJECTIONS:
        rows = read(tables, table.name)
        assert {row["more"] for row in rows} <= {None}
        assert len(rows) == len(read(finished, table.name)) + (table is ALERTS)
    day = min(row["date"] for row in read(tables, "alerts"))
    assert drop_superseded(DeltaTable(tables / "alerts"), ALERTS, str(day)) == 2
    assert [row["consumer_group"] for row in read(tables, "alerts", date=day)] == ["audit"]


def test_tables_get_the_properties_that_are_wanted_now(tables: Path) -> None:
    path = tables / "group_members"
    DeltaTable(path).alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 2 hours"})
    run_projections(str(tables))
    assert DeltaTable(path).metadata().configuration == delta_properties(GROUP_MEMBERS)
