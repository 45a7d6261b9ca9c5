"""Rows of ``notifications`` outlive the process that gathered them, and none is written twice."""

import os
import stat
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from streaming import private_files
from streaming.notices.notice import Text
from streaming.notifier.notifications_table import Delivery, NotificationsTable
from tests.notices.incidents import INCIDENTS, NOW


def outcome(number: int) -> Delivery:
    return Delivery("pager", "delivered", None, INCIDENTS["SAME_CLIENT_ID"], Text(f"title {number}", "body"), NOW)


def written(tables: Path) -> list[str]:
    return sorted(DeltaTable(str(tables / "notifications")).to_pyarrow_table()["title"].to_pylist())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outcomes").mkdir()
    return tmp_path / "outcomes"


def test_rows_of_a_process_that_was_killed_are_written_by_the_next(tmp_path: Path, folder: Path) -> None:
    killed = NotificationsTable(str(tmp_path), folder)
    killed.add(outcome(1))
    killed.write()
    killed.add(outcome(2))
    killed.add(outcome(3))
    assert written(tmp_path) == ["title 1"]
    NotificationsTable(str(tmp_path), folder).write()
    assert written(tmp_path) == ["title 1", "title 2", "title 3"]
    assert list(folder.iterdir()) == []


def test_rows_whose_commit_was_the_last_that_a_process_did_are_not_written_again(tmp_path: Path, folder: Path) -> None:
    killed = NotificationsTable(str(tmp_path), folder)
    killed.add(outcome(1))
    (left,) = folder.iterdir()
    content = left.read_bytes()
    killed.write()
    left.write_bytes(content)  # as if it had been killed before it could delete the file
    again = NotificationsTable(str(tmp_path), folder)
    again.add(outcome(2))
    again.write()
    assert written(tmp_path) == ["title 1", "title 2"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("left", [0, 50])
def test_a_damaged_commit_costs_its_rows_and_no_others(tmp_path: Path, folder: Path, left: int) -> None:
    table = NotificationsTable(str(tmp_path), folder)
    for number in (1, 2):
        table.add(outcome(number))
        table.write()
    newest = max((tmp_path / "notifications" / "_delta_log").glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:left])
    again = NotificationsTable(str(tmp_path), folder)
    again.add(outcome(3))
    again.write()
    assert written(tmp_path) == ["title 1", "title 3"]


def test_row_that_was_cut_off_costs_no_other(tmp_path: Path, folder: Path) -> None:
    killed = NotificationsTable(str(tmp_path), folder)
    killed.add(outcome(1))
    killed.add(outcome(2))
    (left,) = folder.iterdir()
    left.write_bytes(left.read_bytes()[:-20])
    NotificationsTable(str(tmp_path), folder).write()
    assert written(tmp_path) == ["title 1"]


def test_rows_are_kept_in_memory_while_the_disk_is_full_and_while_the_table_is_away(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes = NotificationsTable(str(tmp_path / "tables"), folder)
    monkeypatch.setattr(private_files, "opened", lambda *_: os.open("/dev/full", os.O_WRONLY))
    outcomes.add(outcome(1))
    (tmp_path / "tables").write_text("a file where a folder should be")
    outcomes.write()
    outcomes.add(outcome(2))
    outcomes.write()
    assert "2 rows of notifications wait" in caplog.text
    (tmp_path / "tables").unlink()
    outcomes.write()
    assert written(tmp_path / "tables") == ["title 1", "title 2"]


def test_files_are_not_for_everybody(tmp_path: Path, folder: Path) -> None:
    before = os.umask(0)
    try:
        NotificationsTable(str(tmp_path), folder).add(outcome(1))
    finally:
        os.umask(before)
    (left,) = folder.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) & 0o007 == 0


def as_older(table: Path) -> None:
    """As a notifier left it that had other comments, and no ``detail``."""
    rows = DeltaTable(table).to_pyarrow_table().drop_columns(["detail"])
    fields = [field.with_metadata({"comment": "as it was"}) for field in rows.schema]
    write_deltalake(table, rows.cast(pa.schema(fields)), mode="overwrite", schema_mode="overwrite")


def test_rows_are_appended_to_the_table_of_an_older_evenkeel(tmp_path: Path, folder: Path) -> None:
    outcomes = NotificationsTable(str(tmp_path), folder)
    outcomes.add(outcome(1))
    outcomes.write()
    as_older(tmp_path / "notifications")
    outcomes.add(outcome(2))
    outcomes.write()
    assert written(tmp_path) == ["title 1", "title 2"]
    assert "detail" in DeltaTable(tmp_path / "notifications").to_pyarrow_table().column_names
