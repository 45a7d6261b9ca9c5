"""Commits that a failure of the machine has damaged."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from streaming.errors import CheckpointError
from streaming.tables.damaged_commits import (
    NEWEST,
    damaged_commits,
    require_whole_commits,
    say_mended,
    set_damaged_aside,
)
from streaming.tables.facts_log import FactsLog, FactsReader
from testing.damage import cut
from testing.written import commit
from tests.notifier.facts import NOW, alert


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with four commits of a fact each."""
    path = tmp_path / "facts"
    for number in range(4):
        commit(path, [alert(f"g{number}")])
    return path


def log_of(table: Path, version: int) -> Path:
    return table / "_delta_log" / f"{version:020}.json"


def rows_of(table: Path, version: int) -> Path:
    (name,) = FactsLog(str(table)).new_files(version) or ()
    return table / name


@pytest.mark.slow("tables are written")
def test_a_whole_table_is_left_as_it_is(table: Path) -> None:
    assert damaged_commits(str(table)) == []
    require_whole_commits(str(table))


def test_what_is_no_table_or_no_folder_of_this_machine_has_no_damage(tmp_path: Path) -> None:
    assert damaged_commits(str(tmp_path / "none")) == []
    assert damaged_commits("s3://bucket/facts") == []


@pytest.mark.deep_rows("tables are written")
@pytest.mark.parametrize("left", [0, 0.3, 0.6, 0.95])
def test_a_commit_without_its_end_is_damaged(table: Path, left: float) -> None:
    cut(log_of(table, 3), left)
    with pytest.raises(
        CheckpointError, match=r"_delta_log: damaged by .*: commit 3\. Run 'evenkeel reseed' with a new fo"
    ):
        require_whole_commits(str(table))


@pytest.mark.slow("tables are written")
@pytest.mark.parametrize("left", [0, 0.5])
def test_so_is_one_whose_rows_are_cut(table: Path, left: float) -> None:
    cut(rows_of(table, 2), left)
    assert damaged_commits(str(table)) == [2]


@pytest.mark.slow("tables are written")
def test_files_of_rows_that_were_deleted_are_no_damage(table: Path) -> None:
    """Maintenance deletes those that it has replaced."""
    rows_of(table, 1).unlink()
    assert damaged_commits(str(table)) == []


@pytest.mark.slow("tables are written")
def test_older_commits_are_not_looked_at(table: Path) -> None:
    cut(log_of(table, 1), 0)
    for version in range(4, NEWEST + 2):
        log_of(table, version).write_bytes(log_of(table, 3).read_bytes())
    assert damaged_commits(str(table)) == []
    log_of(table, NEWEST + 1).unlink()
    assert damaged_commits(str(table)) == [1]


@pytest.mark.slow("tables are written")
def test_readers_go_on_over_a_commit_that_was_set_aside(table: Path) -> None:
    whole = FactsReader(table).new()
    cut(log_of(table, 1), 0.5)
    cut(rows_of(table, 3), 0.5)
    assert set_damaged_aside(str(table), NOW) == [1, 3]
    say_mended(str(table), [1, 3])
    assert set_damaged_aside(str(table), NOW) == []
    assert [fact.group for fact in FactsReader(table).new()] == [whole[0].group, whole[2].group]
    assert DeltaTable(str(table)).to_pyarrow_table().num_rows == 2
    assert log_of(table, 1).with_suffix(".damaged").read_bytes()
    commit(table, [alert("next")])
    assert (DeltaTable(str(table)).version(), FactsReader(table).new()[-1].group) == (4, "next")


@pytest.mark.slow("tables are written")
def test_a_commit_that_was_set_aside_is_damaged_until_it_is_mended(table: Path) -> None:
    cut(log_of(table, 2), 0.5)
    left = log_of(table, 2).read_bytes()
    assert [set_damaged_aside(str(table), now) for now in (NOW, NOW + 1)] == [[2], [2]]
    with pytest.raises(CheckpointError, match=r"commit 2\. Run 'evenkeel reseed'"):
        require_whole_commits(str(table))
    assert log_of(table, 2).with_suffix(".damaged").read_bytes() == left
    say_mended(str(table), [2])
    require_whole_commits(str(table))


def test_a_table_that_lost_its_first_commit_cannot_be_mended(table: Path) -> None:
    cut(log_of(table, 0), 0)
    with pytest.raises(CheckpointError, match=r"commit 0, with the columns of the table: restore a copy"):
        set_damaged_aside(str(table), NOW)
    assert log_of(table, 0).read_bytes() == b""
