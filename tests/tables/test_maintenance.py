"""What maintenance asks of a table's writer, in which order, whoever that is."""

import os
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from schemas.table_definition import Table
from schemas.tables import FACTS, GROUP_MEMBERS, GROUP_STATUS
from streaming.tables.arrow_types import arrow_schema, without_comments
from streaming.tables.creation import create_table
from streaming.tables.damaged_commits import say_mended, set_damaged_aside
from streaming.tables.maintenance import MaintainOptions, Round
from testing.damage import cut

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAYS = (date(2026, 2, 28), date(2026, 3, 7), date(2026, 3, 10), date(2026, 3, 10))


class Asked:
    """A writer that notes what it is asked for, and changes nothing."""

    def __init__(self, dropped: int = 0) -> None:
        self.calls: list[tuple[str, object]] = []
        self._dropped = dropped

    def drop_expired(self, days: list[str]) -> int:
        self.calls.append(("drop", days))
        return self._dropped

    def compact(self, before: str | None) -> tuple[int, int]:
        self.calls.append(("compact", before))
        return 0, 0

    def vacuum(self) -> None:
        self.calls.append(("vacuum", None))

    def checkpoint(self) -> None:
        self.calls.append(("checkpoint", None))


def asked(tables: Path, table: Table, dropped: int = 0, unread: str | None = None, **options: int) -> Asked:
    path = tables / table.name
    if not path.exists():
        create_table(str(path), table)
        for day in DAYS:
            row = {"seq": 1, "ts": NOW, "date": day}
            row = {name: value for name, value in row.items() if name in arrow_schema(table).names}
            write_deltalake(path, pa.Table.from_pylist([row], without_comments(arrow_schema(table))), mode="append")
    writer = Asked(dropped)
    keep = {table.name: options.pop("keep_days", 5)}
    Round(str(tables), MaintainOptions(keep_days=keep, **options), NOW).maintain(table, writer, unread=unread)
    return writer


@pytest.mark.slow("tables are written")
@pytest.mark.parametrize("table", [FACTS, GROUP_STATUS])
def test_expired_days_go_and_closed_ones_are_compacted(table: Table, tmp_path: Path) -> None:
    drop, compact, log = asked(tmp_path, table).calls  # nothing was replaced: there is nothing to vacuum
    assert (drop, compact) == (("drop", ["2026-02-28"]), ("compact", "2026-03-10"))
    assert log == ("checkpoint", None)


@pytest.mark.slow("tables are written")
def test_a_day_with_many_files_is_compacted_before_it_ends(tmp_path: Path) -> None:
    assert ("compact", None) in asked(tmp_path, FACTS, files_a_day=2).calls
    assert ("compact", "2026-03-10") in asked(tmp_path, FACTS, files_a_day=3).calls


@pytest.mark.slow("tables are written")
def test_rows_that_are_kept_for_ever_do_not_expire(tmp_path: Path) -> None:
    assert ("drop", []) in asked(tmp_path, FACTS, keep_days=0).calls


@pytest.mark.slow("tables are written")
def test_replaced_files_go_and_stay_while_somebody_has_yet_to_read_them(tmp_path: Path) -> None:
    assert [name for name, _ in asked(tmp_path, FACTS, dropped=1).calls] == ["drop", "compact", "vacuum", "checkpoint"]
    assert [name for name, _ in asked(tmp_path, FACTS, 1, "not read").calls] == ["drop", "compact"]


def written_log(tables: Path, minutes_ago: dict[str, int]) -> Path:
    """The log of a table with five versions, and checkpoints of the second and the fourth. Files are as old as said.

    ``minutes_ago``: by the beginning of a name, before the newest commit. Others are as old as that.
    """
    path = tables / FACTS.name
    if not path.exists():
        asked(tables, FACTS, unread="not read")
    log = path / "_delta_log"
    for version in (1, 3):
        DeltaTable(path, version=version).create_checkpoint()
    (log / f".{0:020}.json.crc").touch()
    newest_s = DeltaTable(path).history(1)[0]["timestamp"] / 1000
    for file in log.iterdir():
        ages = [minutes for name, minutes in minutes_ago.items() if file.name.lstrip(".").startswith(name)]
        then = newest_s - 60 * max(ages, default=0)
        os.utime(file, (then, then))
    return log


def names(log: Path) -> set[str]:
    return {file.name.lstrip("0") for file in log.iterdir() if file.name != "_last_checkpoint"}


OLD = {f"{version:020}.json": 90 for version in range(4)}
CHECKPOINTS = (f"{1:020}.checkpoint", f"{3:020}.checkpoint")
ALL = {".json", "1.json", "2.json", "3.json", "4.json", "1.checkpoint.parquet", "3.checkpoint.parquet"}
CHECKSUM = f".{0:020}.json.crc"


@pytest.mark.slow("tables are written")
@pytest.mark.parametrize(
    ("minutes", "left"),
    [
        ((80, 59), ALL - {".json"}),  # versions of an hour ago need the first checkpoint, and what came after it
        ((80, 61), {"3.json", "4.json", "3.checkpoint.parquet"}),
        ((59, 58), ALL | {CHECKSUM}),
    ],
)
def test_an_hour_of_the_log_is_kept_and_what_versions_since_then_need(
    minutes: tuple[int, int], left: set[str], tmp_path: Path
) -> None:
    log = written_log(tmp_path, {**OLD, **dict(zip(CHECKPOINTS, minutes, strict=True))})
    before = names(log)
    done = Round(str(tmp_path), MaintainOptions(), NOW).keep_short(FACTS, Asked())
    assert names(log) == left
    assert (done.log_files_deleted if done else 0) == len(before - left - {CHECKSUM})


@pytest.mark.slow("tables are written")
def test_a_damaged_commit_that_was_set_aside_stays(tmp_path: Path) -> None:
    log = written_log(tmp_path, {**OLD, **dict.fromkeys(CHECKPOINTS, 80)})
    set_aside = log / f"{0:020}.damaged"
    set_aside.touch()
    done = Round(str(tmp_path), MaintainOptions(), NOW).keep_short(FACTS, Asked())
    assert done is not None
    assert set_aside.exists()
    assert not set_aside.with_suffix(".json").exists()


@pytest.mark.slow("tables are written")
@pytest.mark.parametrize("is_set_aside", [False, True])  # by a reseed that was interrupted
def test_a_table_with_a_damaged_commit_stays_as_it_is(is_set_aside: bool, tmp_path: Path) -> None:
    log = written_log(tmp_path, {**OLD, **dict.fromkeys(CHECKPOINTS, 80)})
    cut(log / f"{2:020}.json")
    damaged = set_damaged_aside(str(log.parent), 0) if is_set_aside else [2]
    before, writer, work = names(log), Asked(), Round(str(tmp_path), MaintainOptions(), NOW)

    done = work.maintain(FACTS, writer)

    assert "left as it is: commit 2 damaged by a failure of the machine. Start 'evenkeel run'" in str(done)
    assert work.keep_short(FACTS, writer) is None
    assert (names(log), writer.calls) == (before, [])
    if is_set_aside:
        say_mended(str(log.parent), damaged)
        assert work.keep_short(FACTS, writer) is not None


@pytest.mark.slow("tables are written")
def test_a_checkpoint_is_written_if_commits_came_after_the_newest(tmp_path: Path) -> None:
    log = written_log(tmp_path, OLD)
    for checkpoints, calls in ((0, [("checkpoint", None)]), (1, [])):
        if checkpoints:
            DeltaTable(log.parent).create_checkpoint()
        writer = Asked()
        Round(str(tmp_path), MaintainOptions(), NOW).keep_short(FACTS, writer)
        assert writer.calls == calls


@pytest.mark.slow("tables are written")
def test_a_log_is_left_alone_while_somebody_has_yet_to_read_it(tmp_path: Path) -> None:
    log = written_log(tmp_path, {**OLD, **dict.fromkeys(CHECKPOINTS, 80)})
    before, writer = names(log), Asked()
    assert Round(str(tmp_path), MaintainOptions(), NOW).keep_short(FACTS, writer, unread="not read") is None
    assert (names(log), writer.calls) == (before, [])


def test_a_table_that_is_overwritten_is_never_compacted(tmp_path: Path) -> None:
    assert [name for name, _ in asked(tmp_path, GROUP_MEMBERS).calls] == ["drop", "vacuum", "checkpoint"]
