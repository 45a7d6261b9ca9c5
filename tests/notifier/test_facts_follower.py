"""The facts table followed without a JVM."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from schemas.facts import Fact, GroupFact, RebalanceFact
from streaming.notifier import facts_follower
from streaming.notifier.facts_follower import FactsFollower
from testing.written import commit
from tests.notifier.facts import alert, health

OTHER = Fact(1, "c", "g", None, alert().ts, RebalanceFact(
    trigger="join", joined=(), left=(), topics=(), from_ts=1, to_ts=2, converged=True, queues_moved=0, fewest_moves=0,
    duplicated_ms=0, orphaned_ms=0,
))  # fmt: skip


def of_group(group: str, seq: int, refused_since: int | None = None) -> Fact:
    return Fact(seq, "c", group, None, alert().ts, GroupFact(
        status="unknown", members=0, queues=1, counts={"UNKNOWN": 1}, brokers_covered=0, brokers_known=1,
        members_reporting=0, refused_since=refused_since,
    ))  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "tables of mine" / "facts"


def drop_log(table: Path, until: int) -> None:
    """As if maintenance had made a checkpoint and shortened the log."""
    DeltaTable(table).create_checkpoint()
    for version in range(until + 1):
        (table / "_delta_log" / f"{version:020}.json").unlink()


@pytest.mark.slow("hours of pages")
def test_facts_come_once_and_only_those_that_matter(table: Path) -> None:
    follower = FactsFollower(str(table.parent))
    assert follower.read() == [], "there is no table yet"
    commit(table, [alert(), OTHER, health()])
    assert follower.read() == [alert(), health()]
    assert follower.read() == []
    commit(table, [OTHER])
    commit(table, [alert(seq=2, state="resolved", at=5, fired=0)])
    commit(table, [alert("h")])
    assert follower.read() == [alert(seq=2, state="resolved", at=5, fired=0), alert("h")]


@pytest.mark.slow("hours of pages")
def test_a_group_whose_events_are_refused_is_heard_of(table: Path) -> None:
    """Else nobody is notified that evenkeel cannot see it."""
    follower = FactsFollower(str(table.parent))
    refused, taken = of_group("g", 5, refused_since=7), of_group("g", 6)
    commit(table, [refused, of_group("h", 1)])
    assert follower.read() == [refused], "of a snapshot: only what is refused"
    commit(table, [taken])
    assert follower.read() == [taken]
    assert FactsFollower(str(table.parent)).read() == []


def test_restart_goes_on_where_it_stopped(table: Path) -> None:
    commit(table, [alert()])
    follower = FactsFollower(str(table.parent))
    follower.read()
    commit(table, [alert("h")])
    assert FactsFollower(str(table.parent), follower.table_id, follower.version).read() == [alert("h")]


@pytest.mark.slow("hours of pages")
def test_compaction_tells_nothing(table: Path) -> None:
    for seq in range(1, 4):
        commit(table, [alert(seq=seq, at=seq)])
    follower = FactsFollower(str(table.parent))
    follower.read()
    DeltaTable(table).optimize.compact()
    assert follower.read() == []
    commit(table, [alert("h")])
    assert follower.read() == [alert("h")]


@pytest.mark.slow("hours of pages")
def test_what_is_compacted_before_it_was_read_is_read_from_where_it_was(table: Path) -> None:
    commit(table, [alert()])
    follower = FactsFollower(str(table.parent))
    follower.read()
    commit(table, [alert(seq=2, at=1)])
    DeltaTable(table).optimize.compact()
    assert follower.read() == [alert(seq=2, at=1)]


@pytest.mark.slow("hours of pages")
def test_log_that_was_cut_off_is_caught_up_with_from_a_snapshot(table: Path) -> None:
    commit(table, [alert()])
    follower = FactsFollower(str(table.parent))
    follower.read()
    commit(table, [alert(seq=2, at=1), alert("h")])
    commit(table, [alert(seq=3, at=2, state="resolved", fired=0), health(), health(at=15), OTHER])
    drop_log(table, 1)
    late = FactsFollower(str(table.parent), follower.table_id, follower.version)
    told = [alert(seq=3, at=2, state="resolved", fired=0), alert("h"), health(at=15)]
    assert sorted(late.read(), key=lambda fact: fact.seq) == sorted(told, key=lambda fact: fact.seq)
    assert late.version == 2


@pytest.mark.slow("hours of pages")
def test_log_that_is_cut_off_while_it_watches_is_noticed(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_follower, "LOOK_EVERY_POLLS", 2)
    commit(table, [alert()])
    follower = FactsFollower(str(table.parent))
    follower.read()
    commit(table, [alert(seq=2, at=1)])
    commit(table, [alert(seq=3, at=2)])
    drop_log(table, 1)
    assert [follower.read() for _ in range(2)] == [[], [alert(seq=3, at=2)]]


def test_first_look_at_a_table_is_a_snapshot_of_what_is_newest(table: Path) -> None:
    day = 86_400
    commit(table, [alert(at=0), alert("old", at=-40 * day)])
    commit(table, [health(at=-3 * day), health(at=-30), health(at=0, rounds=0, lag=30), alert(seq=2, at=1)])
    told = FactsFollower(str(table.parent)).read()
    assert sorted(told, key=lambda fact: (fact.payload.fact, fact.ts)) == [
        alert("old", at=-40 * day), alert(seq=2, at=1), health(at=-30), health(at=0, rounds=0, lag=30),
    ]  # fmt: skip


@pytest.mark.slow("hours of pages")
def test_another_table_in_its_place_is_read_afresh(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_follower, "LOOK_EVERY_POLLS", 1)
    commit(table, [alert()])
    commit(table, [alert(seq=2, at=1)])
    follower = FactsFollower(str(table.parent))
    follower.read()
    known = follower.table_id
    shutil.rmtree(table)
    commit(table, [alert("h")])
    assert follower.read() == [alert("h")]
    assert follower.table_id != known
    assert FactsFollower(str(table.parent), known, 1).read() == [alert("h")]


@pytest.mark.slow("hours of pages")
def test_what_cannot_be_read_is_read_the_next_time(table: Path) -> None:
    commit(table, [alert()])
    follower = FactsFollower(str(table.parent))
    follower.read()
    before = set(table.rglob("*.parquet"))
    commit(table, [alert("f")])
    commit(table, [alert("h")])
    file = max(set(table.rglob("*.parquet")) - before, key=lambda path: path.stat().st_mtime_ns)
    away = file.rename(file.with_suffix(".away"))
    with pytest.raises(FileNotFoundError):
        follower.read()
    away.rename(file)
    assert follower.read() == [alert("f"), alert("h")]
