"""What an older evenkeel has left: the checkpoint of its Spark query, tables and facts that lack columns."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from schemas.table_definition import Table
from schemas.tables import ALERTS, FACTS, GROUP_MEMBERS, NOTIFICATIONS, PROJECTIONS, QUEUE_ASSIGNMENTS
from streaming.projections.columns import rows_of
from streaming.projections.progress import CHECKPOINT, SPARKS_FILES, read_progress
from streaming.projections.projector import run_projections
from streaming.projections.table import ProjectionTable
from streaming.tables import creation
from streaming.tables.arrow_types import arrow_schema, without_comments
from streaming.tables.creation import create_table, create_tables, delta_properties
from tests.projections.golden_files import golden_facts
from tests.projections.story import START, all_rows, read, three_days
from tests.tables.telling import Teller
from tests.tables.written import commit, rows_of_facts

pytestmark = pytest.mark.slow

IDENTITY = "7d3b4ce2-7a40-4bb5-8a14-6c8d2f3a9e01"
BATCH = 7


@pytest.fixture
def tables(finished: Path, tmp_path: Path) -> Path:
    """Two days are in the tables, which have no position; facts of the third are there."""
    folder = tmp_path / "tables"
    for day in three_days()[:2]:
        commit(folder / "facts", day)
    run_projections(str(folder))
    shutil.rmtree(folder / CHECKPOINT)
    commit(folder / "facts", three_days()[2])
    return folder


def spark_checkpoint(tables: Path, offsets: Mapping[int, Mapping[str, Any]], committed: int) -> None:
    """As Spark 4.0 and Delta 4.0 write it."""
    folder = tables / CHECKPOINT
    for name in ("offsets", "commits", "evenkeel"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"0b7c"}')
    (folder / "evenkeel" / "identity").write_text(IDENTITY)
    for number, said in offsets.items():
        offset = {"sourceVersion": 1, "reservoirId": facts_id(tables), "index": -1, "isStartingVersion": False} | said
        conf = {"batchWatermarkMs": 0, "batchTimestampMs": 1795380573623, "conf": {}}
        (folder / "offsets" / str(number)).write_text("\n".join(["v1", json.dumps(conf), json.dumps(offset)]))
    (folder / "commits" / str(committed)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def facts_id(tables: Path) -> str:
    return str(DeltaTable(tables / "facts").metadata().id)


def test_it_goes_on_where_the_spark_query_stopped(finished: Path, tables: Path) -> None:
    spark_checkpoint(tables, {BATCH - 1: {"reservoirVersion": 1}, BATCH: {"reservoirVersion": 2}}, committed=BATCH)
    run_projections(str(tables))
    progress = read_progress(str(tables))
    assert progress is not None
    assert (progress.identity, progress.batch_id, progress.done.version) == (IDENTITY, BATCH + 2, 3)
    assert not [name for name in SPARKS_FILES if (tables / CHECKPOINT / name).exists()], "an older one would go on"
    assert all_rows(tables) == all_rows(finished)


def test_after_a_batch_that_spark_left_undone_it_starts_over(finished: Path, tables: Path) -> None:
    """It had appended to two tables."""
    third = rows_of_facts(three_days()[2])
    for table in PROJECTIONS[:2]:
        write_deltalake(tables / table.name, rows_of(table, third), mode="append")
    spark_checkpoint(tables, {BATCH - 1: {"reservoirVersion": 2}, BATCH: {"reservoirVersion": 3}}, committed=BATCH - 1)
    later = Teller(group="audit").member(START, "c")
    commit(tables / "facts", [later])
    run_projections(str(tables))
    assert len(read(tables, "group_members", consumer_group="audit")) == 1
    assert {name: rows for name, rows in all_rows(tables).items() if name != "group_members"} == {
        name: rows for name, rows in all_rows(finished).items() if name != "group_members"
    }


@pytest.mark.parametrize("where", [{"index": 3}, {"isStartingVersion": True}])
def test_in_the_middle_of_a_commit_it_starts_over(where: dict[str, Any], finished: Path, tables: Path) -> None:
    spark_checkpoint(tables, {BATCH: {"reservoirVersion": 2, **where}}, committed=BATCH)
    run_projections(str(tables))
    progress = read_progress(str(tables))
    assert progress is not None
    assert progress.identity != IDENTITY
    assert not (tables / CHECKPOINT / "offsets").exists()
    assert all_rows(tables) == all_rows(finished)


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
    sentence = "no answer from b"
    facts = [
        Teller().membership(START, "a"),
        Teller().alert(START, "firing"),
        Teller().queue(START, 0, "UNKNOWN", reason=sentence),
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
    assert (queue["reason"], queue["reason_details"], status["reason_details"]) == (sentence, None, None)
    assert (change["client_id"], change["first_seen"]) == ("a", None)
    assert (alert["observed"], alert["clients"][0]["start_times"], alert["queues"][0]["waiting"]) == (None, None, 7)


def test_older_facts_with_an_empty_list_for_owners_that_are_not_known_have_null(tmp_path: Path) -> None:
    teller = Teller()
    facts = rows_of_facts([
        teller.queue(START, 0, "UNKNOWN", owners=()), teller.queue(START, 1, "ORPHANED", owners=()),
        teller.queue(START, 2, "MATCH", owners=(), present=False), teller.alert(START, "firing", "STALLED"),
    ]).to_pylist()  # fmt: skip
    for row in facts:
        for owned in (row["queue"], *(row["alert"] or {"queues": ()})["queues"]):
            if owned is not None:
                owned["owners"] = owned["owners"] or []
    older = pa.Table.from_pylist(facts, arrow_schema(FACTS))
    write_deltalake(tmp_path / "facts", older, partition_by=["date"])
    run_projections(str(tmp_path))
    queues = {row["queue_id"]: row["actual_owners"] for row in read(tmp_path, "queue_assignments")}
    assert queues == {0: None, 1: [], 2: []}
    (alert,) = read(tmp_path, "alerts")
    assert alert["queues"][0]["actual_owners"] is None


def test_tables_whose_columns_have_other_comments_are_written_to(finished: Path, tables: Path) -> None:
    """Delta refuses rows whose columns have other comments than the table's."""
    for table in PROJECTIONS:
        for column in table.columns:
            DeltaTable(tables / table.name).alter.set_column_metadata(column.name, {"comment": "as it was"})
    run_projections(str(tables))
    assert all_rows(tables) == all_rows(finished)
    (comment,) = {field.metadata["comment"] for field in DeltaTable(tables / "group_members").schema().fields}
    assert comment == "as it was"


def test_tables_get_the_properties_that_are_wanted_now(tables: Path) -> None:
    path = tables / "group_members"
    DeltaTable(path).alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 2 hours"})
    run_projections(str(tables))
    assert DeltaTable(path).metadata().configuration == delta_properties(GROUP_MEMBERS)


SINCE = datetime(2026, 2, 28, 9, tzinfo=UTC)
OLD_NAMES = {"since_time": "since"}
RENAMED = (QUEUE_ASSIGNMENTS, GROUP_MEMBERS, NOTIFICATIONS)


def make_older(tables: Path, table: Table) -> list[dict[str, Any]]:
    """Write the rows as an evenkeel did that had other names for times; what they must be afterwards."""
    path = str(tables / table.name)
    create_table(path, table)
    if table is NOTIFICATIONS:
        sent = [{"key": f"k{day}", "since_time": SINCE, "ts": SINCE, "date": SINCE.date()} for day in range(5)]
        write_deltalake(path, pa.Table.from_pylist(sent, without_comments(arrow_schema(table))), mode="append")
    wanted = DeltaTable(path).to_pyarrow_table()
    older = wanted.drop_columns([name for name in ("from_time",) if name in wanted.column_names])
    older = older.rename_columns([OLD_NAMES.get(name, name) for name in older.column_names])
    write_deltalake(path, older, mode="overwrite", schema_mode="overwrite")
    return in_order(wanted)


def in_order(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=str)


@pytest.fixture
def with_old_names(tables: Path) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    run_projections(str(tables))
    return tables, {table.name: make_older(tables, table) for table in RENAMED}


def test_times_that_had_another_name_keep_their_values(
    with_old_names: tuple[Path, dict[str, list[dict[str, Any]]]],
) -> None:
    tables, wanted = with_old_names
    assert "since" in DeltaTable(tables / "notifications").to_pyarrow_table().column_names
    before = {name: DeltaTable(tables / name).metadata() for name in wanted}
    create_tables(str(tables))
    for table in RENAMED:
        now = DeltaTable(tables / table.name)
        assert in_order(now.to_pyarrow_table()) == wanted[table.name]
        assert len(wanted[table.name]) > 1
        assert [field.name for field in now.schema().fields] == [column.name for column in table.columns]
        comments = {field.name: field.metadata.get("comment") for field in now.schema().fields}
        assert comments["since_time"] == next(c.comment for c in table.columns if c.name == "since_time")
        kept = ("id", "partition_columns", "configuration", "description")
        assert [getattr(now.metadata(), one) for one in kept] == [getattr(before[table.name], one) for one in kept]
        create_tables(str(tables))
        assert DeltaTable(tables / table.name).version() == now.version(), "nothing is left to do"


KILLED_WHILE_WRITING = """
import os, signal, sys
import pyarrow as pa
from streaming.tables import creation
real, before = creation.write_deltalake, iter(range(int(sys.argv[2])))

def killed_half_way(table, rows, **options):
    if next(before, None) is not None:
        return real(table, rows, **options)
    def half():
        yield from rows.slice(0, rows.num_rows // 2).to_batches()
        os.kill(os.getpid(), signal.SIGKILL)
    return real(table, pa.RecordBatchReader.from_batches(rows.schema, half()), **options)

creation.write_deltalake = killed_half_way
creation.create_tables(sys.argv[1])
"""


@pytest.mark.parametrize("tables_done", range(len(RENAMED)))
def test_killed_while_it_renames_it_is_done_again(
    tables_done: int, with_old_names: tuple[Path, dict[str, list[dict[str, Any]]]]
) -> None:
    tables, wanted = with_old_names
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(tables), str(tables_done)], check=False)
    assert killed.returncode == -signal.SIGKILL
    create_tables(str(tables))
    assert {name: in_order(DeltaTable(tables / name).to_pyarrow_table()) for name in wanted} == wanted


def test_a_row_that_is_appended_meanwhile_keeps_its_time(
    with_old_names: tuple[Path, dict[str, list[dict[str, Any]]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a notifier that is older still."""
    tables, wanted = with_old_names
    path = tables / "notifications"
    late = {"key": "late", "ts": SINCE, "date": SINCE.date()}

    def overtaken(table: DeltaTable, rows: pa.Table, **options: Any) -> None:
        monkeypatch.setattr(creation, "write_deltalake", write_deltalake)
        schema = pa.schema(DeltaTable(path).schema().to_arrow())
        row = pa.Table.from_pylist([late | {"since": SINCE}], without_comments(schema))
        write_deltalake(path, row, mode="append")
        write_deltalake(table, rows, **options)

    monkeypatch.setattr(creation, "write_deltalake", overtaken)
    create_table(str(path), NOTIFICATIONS)
    rows = DeltaTable(path).to_pyarrow_table().to_pylist()
    assert len(rows) == len(wanted["notifications"]) + 1
    assert {row["since_time"] for row in rows} == {SINCE}


def test_older_and_newer_evenkeels_in_turn_lose_no_time(tmp_path: Path) -> None:
    """An older one adds the column that it knows to a table that has the new one."""
    path, schema = str(tmp_path / "group_members"), without_comments(arrow_schema(GROUP_MEMBERS))
    create_table(path, GROUP_MEMBERS)
    write_deltalake(path, pa.Table.from_pylist([{"client_id": "a", "since_time": SINCE}], schema), mode="append")
    DeltaTable(path).alter.add_columns(Schema.from_arrow(pa.schema({"since": pa.timestamp("us", "UTC")})).fields)
    older = schema.append(pa.field("since", schema.field("ts").type))
    write_deltalake(path, pa.Table.from_pylist([{"client_id": "b", "since": SINCE}], older), mode="append")
    create_table(path, GROUP_MEMBERS)
    rows = in_order(DeltaTable(path).to_pyarrow_table())
    assert [(row["client_id"], row["since_time"]) for row in rows] == [("a", SINCE), ("b", SINCE)]
    assert "since" not in rows[0]
