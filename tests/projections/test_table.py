"""Tables larger than the pieces that pyarrow reads: deltalake cannot write a slice of a struct column."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from schemas.tables import QUEUE_ASSIGNMENTS
from streaming.projections import table
from streaming.projections.table import ProjectionTable, newest
from streaming.tables.arrow_types import arrow_schema, unsliced
from streaming.tables.creation import create_tables

A_PIECE = 131_072  # rows; what pyarrow's datasets read at once
WHEN = datetime(2026, 3, 1, tzinfo=UTC)


def queues(begin: int, end: int, seq: int = 0) -> pa.Table:
    """Each hundredth has details, which are a struct."""
    told = {"cluster": "c", "consumer_group": "g", "topic": "T", "broker_name": "a", "finding": "UNKNOWN"}
    told |= {"severity": "none", "since": WHEN, "ts": WHEN, "present": True, "seq": seq}
    details = {"broker_names": ["broker-a"], "since_ts": 1}
    return pa.Table.from_pylist(
        [told | {"queue_id": one, "reason_details": None if one % 100 else details} for one in range(begin, end)],
        arrow_schema(QUEUE_ASSIGNMENTS),
    )


@pytest.mark.slow("many commits are written")
def test_rows_are_merged_into_a_table_of_several_pieces(tmp_path: Path) -> None:
    create_tables(str(tmp_path), [QUEUE_ASSIGNMENTS])
    assignments = ProjectionTable(str(tmp_path), QUEUE_ASSIGNMENTS)
    assignments.merge(queues(0, A_PIECE + 10_000))
    assignments.merge(queues(A_PIECE + 10_000, A_PIECE + 15_000))  # nothing is replaced: the pieces stay as they are
    assignments.merge(newest(queues(A_PIECE, A_PIECE + 20_000, seq=1), QUEUE_ASSIGNMENTS))

    rows = DeltaTable(tmp_path / QUEUE_ASSIGNMENTS.name).to_pyarrow_table(columns=["queue_id", "seq", "reason_details"])
    assert rows.num_rows == A_PIECE + 20_000
    found = {row["queue_id"]: row for row in rows.to_pylist()}
    assert sum(row["seq"] for row in found.values()) == 20_000
    assert [number for number, row in found.items() if (row["reason_details"] is None) != bool(number % 100)] == []


def test_open_table_is_kept_open_and_sees_what_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open it reads its log, which in an object store is two requests a commit."""
    opened: list[str] = []
    monkeypatch.setattr(table, "DeltaTable", lambda path: opened.append(path) or DeltaTable(path))
    monkeypatch.setattr(table, "OPENED_EVERY", 8)
    create_tables(str(tmp_path), [QUEUE_ASSIGNMENTS])
    kept, other = (ProjectionTable(str(tmp_path), QUEUE_ASSIGNMENTS) for _ in range(2))

    for number in range(1, 6):
        kept.merge(queues(number, number + 1))
    assert len(opened) == 1
    other.merge(queues(6, 7))
    kept.merge(queues(7, 8))
    assert DeltaTable(opened[0]).to_pyarrow_table().num_rows == 7
    opened.clear()
    kept.append(queues(8, 9), "x", 4)
    kept.append(queues(9, 10), "x", 5)
    assert len(opened) == 1, "again after some commits"
    assert kept.has("x", 5)
    assert not kept.has("x", 6)


def test_write_that_comes_after_anothers_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_tables(str(tmp_path), [QUEUE_ASSIGNMENTS])
    kept, other = (ProjectionTable(str(tmp_path), QUEUE_ASSIGNMENTS) for _ in range(2))
    kept.merge(queues(1, 3))
    written: list[int] = []

    def interrupted(rows: pa.Table) -> pa.Table:
        written.append(rows.num_rows)
        if len(written) == 1:
            other.merge(queues(3, 5))
        return unsliced(rows)

    monkeypatch.setattr(table, "unsliced", interrupted)
    kept.merge(queues(5, 6))
    assert written == [3, 4, 5], "ours, the other's, and ours again"
    assert DeltaTable(tmp_path / QUEUE_ASSIGNMENTS.name).to_pyarrow_table().num_rows == 5


def test_a_slice_of_a_struct_column_is_copied_with_its_values() -> None:
    sliced = queues(0, 500).slice(137, 200)
    assert sliced["reason_details"].chunk(0).offset == 137
    copied = unsliced(sliced)
    assert copied.equals(sliced)
    assert copied["reason_details"].chunk(0).offset == 0


def test_what_is_no_slice_is_not_copied() -> None:
    rows = queues(0, 500)
    before = pa.total_allocated_bytes()
    same = unsliced(rows)
    assert pa.total_allocated_bytes() == before
    assert same.equals(rows)
