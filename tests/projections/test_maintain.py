"""Maintenance: what it removes, what it must leave, and that nothing is lost while the projections go on."""

import os
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from msgspec.structs import replace

from schemas.facts import Fact
from schemas.tables import MEMBERSHIP_CHANGES, PROJECTIONS, QUEUE_ASSIGNMENTS
from streaming.errors import InUseError
from streaming.projections.locks import maintaining_alone
from streaming.projections.maintain import maintain, maintain_regularly
from streaming.projections.progress import delete_progress
from streaming.projections.projector import run_projections
from streaming.tables.maintenance import ROUNDS_AN_HOUR, MaintainOptions
from testing.written import commit
from tests.projections.story import NOW, TODAY, read, some_days
from tests.tables.telling import DAY, HOUR, Teller

pytestmark = pytest.mark.slow("many commits are written")

KEEP = MaintainOptions(keep_days={"queue_findings": 5, "alerts": 5, "group_status": 5, "monitor_health": 0})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read it only; ``told`` is a copy to change."""
    tables = tmp_path_factory.mktemp("finished")
    for facts in some_days():
        commit(tables / "facts", facts)
        run_projections(str(tables))
    return tables


@pytest.fixture(scope="module")
def maintained(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy after one round."""
    tables = tmp_path_factory.mktemp("maintained") / "tables"
    shutil.copytree(finished, tables)
    for table in PROJECTIONS:
        no_wait = {"delta.deletedFileRetentionDuration": "interval 0 hours"}
        DeltaTable(tables / table.name).alter.set_table_properties(no_wait)
    done = {one.table: str(one) for one in maintain(str(tables), KEEP, NOW)}
    assert done["queue_findings"].startswith("queue_findings: 2 rows dropped, 2 files compacted into 1, ")
    return tables


def files(tables: Path, name: str) -> Counter[str]:
    """How many files each day of a table has in its newest snapshot."""
    return Counter(Path(uri).parent.name for uri in DeltaTable(tables / name).file_uris())


def days(tables: Path, name: str) -> list[str]:
    return sorted({str(row["date"]) for row in read(tables, name)})


def test_closed_days_are_compacted_expired_ones_dropped_and_today_left_alone(finished: Path, maintained: Path) -> None:
    assert files(finished, "alerts") == {"date=2026-02-28": 2, "date=2026-03-07": 2, "date=2026-03-10": 2}
    assert files(maintained, "queue_findings") == {"date=2026-03-07": 1, "date=2026-03-10": 2}
    assert len(days(maintained, "monitor_health")) == 3  # 0 days is for ever
    assert "facts" not in {one.table for one in maintain(str(maintained), KEEP, NOW)}


def test_statuses_expire_also_the_newest_of_a_group(maintained: Path) -> None:
    assert read(maintained, "group_status") == []
    assert days(maintained, "alerts") == ["2026-03-07", "2026-03-10"]


def test_an_open_alert_outlives_its_retention_until_it_is_resolved(tmp_path: Path) -> None:
    long_ago, teller, kind = TODAY - 300 * DAY, Teller(), "STALLED"
    opened = [teller.alert(long_ago, "pending", kind), teller.alert(long_ago + HOUR, "firing", kind)]
    ended = [teller.alert(long_ago, "firing"), teller.alert(long_ago + DAY, "resolved")]
    commit(tmp_path / "facts", [*opened, *ended])
    run_projections(str(tmp_path))
    list(maintain(str(tmp_path), KEEP, NOW))
    assert [(row["kind"], row["state"]) for row in read(tmp_path, "alerts")] == [(kind, "firing")]


def gone(group: str, ts: int, **of: str) -> list[Fact]:
    """A group's last facts: no fact says that its queue is gone."""
    teller = Teller(group=group, **of)
    return [teller.queue(ts, 0, "NO_MEMBERS", owners=()), teller.status(ts, "empty", 0)]


def test_queues_of_groups_that_the_job_has_forgotten_go(tmp_path: Path) -> None:
    """The job keeps a group's state for a week, and longer with an open alert or members. Else it tells all again."""
    week_ago = TODAY - 8 * DAY
    alerting = Teller(group="alerts").alert(week_ago, "firing")
    member = Teller(group="members").member(week_ago, "client")
    told = [
        *gone("forgotten", week_ago - 1), *gone("not-yet", week_ago), *gone("members", week_ago - 1),
        replace(member, seq=9), *gone("alerts", week_ago - 1), replace(alerting, seq=9),
        *gone("unseen", week_ago - 1, cluster="other"),
        *gone("back", week_ago - 1), replace(Teller(group="back").status(TODAY, "empty", 0), seq=9),
    ]  # fmt: skip
    commit(tmp_path / "facts", told)
    run_projections(str(tmp_path))
    list(maintain(str(tmp_path), MaintainOptions(), NOW, only=[QUEUE_ASSIGNMENTS]))
    left = {row["consumer_group"] for row in read(tmp_path, "queue_assignments")}
    assert left == {"not-yet", "members", "alerts", "unseen", "back"}
    list(maintain(str(tmp_path), MaintainOptions(forget_after_ms=6 * DAY), NOW, only=[QUEUE_ASSIGNMENTS]))
    assert "not-yet" not in {row["consumer_group"] for row in read(tmp_path, "queue_assignments")}


@pytest.mark.parametrize(("last_ts", "is_left"), [(TODAY - 8 * DAY - 1, False), (TODAY - 8 * DAY, True)])
def test_they_go_also_if_the_statuses_of_the_group_have_expired(last_ts: int, is_left: bool, tmp_path: Path) -> None:
    (queue, _), (_, status) = gone("forgotten", last_ts), gone("there", TODAY)
    commit(tmp_path / "facts", [queue, status])
    run_projections(str(tmp_path))
    list(maintain(str(tmp_path), MaintainOptions(), NOW, only=[QUEUE_ASSIGNMENTS]))
    assert bool(read(tmp_path, "queue_assignments")) == is_left


def test_tombstones_go_after_a_week(maintained: Path) -> None:
    left = {row["client_id"] for row in read(maintained, "group_members")}
    assert left == {f"client-{TODAY - 3 * DAY}", f"client-{TODAY}"}


def test_tombstones_stay_while_older_facts_may_still_come(told: Path) -> None:
    delete_progress(str(told))
    list(maintain(str(told), KEEP, NOW))
    assert len(read(told, "group_members")) == 3


@pytest.mark.parametrize("name", ["queue_findings", "alerts", "queue_assignments", "group_members"])
def test_replaced_files_are_deleted(name: str, maintained: Path) -> None:
    on_disk = {path.name for path in (maintained / name).rglob("*.parquet") if "_delta_log" not in path.parts}
    assert on_disk == {Path(uri).name for uri in DeltaTable(maintained / name).file_uris()}


@pytest.mark.parametrize("table", PROJECTIONS, ids=lambda table: table.name)
def test_readers_can_filter_by_all_strings(table, maintained: Path) -> None:
    """pyarrow, through which DuckDB reads, cannot where a file says ``string_view``."""
    for path in DeltaTable(maintained / table.name).file_uris():
        assert "view" not in str(pq.read_schema(path))


def test_a_day_with_very_many_files_is_compacted_before_it_ends(told: Path) -> None:
    list(maintain(str(told), MaintainOptions(files_a_day=2), NOW))
    assert files(told, "queue_findings")["date=2026-03-10"] == 1


def age_log(path: Path, hours: int) -> None:
    """Make all commits so much older, by the times of their files and by their own."""
    then = time.time() - hours * 3600
    for entry in (path / "_delta_log").iterdir():
        if entry.suffix == ".json":
            text = re.sub(
                r'("timestamp":)(\d+)', lambda one: f"{one[1]}{int(one[2]) - hours * HOUR}", entry.read_text()
            )
            entry.write_text(text)
        os.utime(entry, (then, then))


def test_the_log_is_shortened_to_hours_and_says_still_which_batches_are_there(told: Path) -> None:
    table, log = told / "queue_findings", told / "queue_findings" / "_delta_log"
    list(maintain(str(told), KEEP, NOW, only=[PROJECTIONS[0]]))
    age_log(table, 50)
    commit(told / "facts", [Teller(group="audit").queue(TODAY, 0, "MATCH", ("ORPHANED", TODAY - HOUR))])
    run_projections(str(told))
    rows = len(read(told, "queue_findings"))
    before = len(list(log.iterdir()))
    (done,) = maintain(str(told), KEEP, NOW, only=[PROJECTIONS[0]])
    assert done.log_files_deleted >= 6
    assert len(list(log.iterdir())) <= before - done.log_files_deleted + 3
    assert len(read(told, "queue_findings")) == rows
    run_projections(str(told))
    assert len(read(told, "queue_findings")) == rows


def test_a_table_that_nobody_wrote_to_keeps_what_its_last_write_says(told: Path) -> None:
    """The notifier reads in its newest commit which rows it has written, however long ago."""
    path = told / "queue_findings"
    written = DeltaTable(path).version()
    list(maintain(str(told), KEEP, NOW, only=[PROJECTIONS[0]]))
    age_log(path, 2)
    list(maintain(str(told), KEEP, NOW, only=[PROJECTIONS[0]]))
    assert (path / "_delta_log" / f"{written:020}.json").exists()


def test_one_process_at_a_time_maintains_the_tables(told: Path) -> None:
    with maintaining_alone(str(told)), pytest.raises(InUseError, match="are being maintained by process"):
        list(maintain(str(told), KEEP, NOW))


def test_nothing_is_lost_while_the_projections_go_on(told: Path) -> None:
    """Appends, overwrites and maintenance at once."""
    stop, teller, numbers = Event(), Teller(group="busy"), []

    def tell() -> None:
        while not stop.is_set():
            number = len(numbers)
            commit(told / "facts", [teller.membership(TODAY, f"c{number}"), teller.queue(TODAY, number % 3, "MATCH")])
            numbers.append(number)
            run_projections(str(told))

    writer = Thread(target=tell)
    writer.start()
    try:
        options = MaintainOptions(keep_days=KEEP.keep_days, files_a_day=1)
        for _ in range(5):
            list(maintain(str(told), options, NOW, only=[MEMBERSHIP_CHANGES, QUEUE_ASSIGNMENTS]))
    finally:
        stop.set()
        writer.join()
    changes = read(told, "membership_changes", consumer_group="busy")
    newest = max(row["seq"] for row in read(told, "queue_assignments", consumer_group="busy"))
    assert Counter(row["client_id"] for row in changes) == {f"c{number}": 1 for number in numbers}
    assert newest == 2 * len(numbers) - 1


def test_logs_are_shortened_without_any_other_work(told: Path) -> None:
    every_version = MaintainOptions(log_hours=-1)
    list(maintain(str(told), every_version, in_full=False))  # makes checkpoints
    before, names = read(told, "queue_findings"), entries(told, "queue_findings")
    assert len(names) > 2
    done = {one.table: one for one in maintain(str(told), every_version, in_full=False)}
    assert done["queue_findings"].log_files_deleted == len(names) - len(entries(told, "queue_findings")) > 0
    assert (done["queue_findings"].rows_dropped, done["queue_findings"].files_before) == (0, 0)
    assert read(told, "queue_findings") == before
    assert list(maintain(str(told), every_version, in_full=False)) == []


@pytest.mark.deep("hundreds of commits are written and joined")
def test_many_small_files_are_joined_between_the_hours(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of days that have many."""
    monkeypatch.setattr("streaming.projections.maintain.LEAST_JOINED", few := 6)
    teller = Teller(group="busy")
    for number in range(few):
        commit(told / "facts", [teller.membership(TODAY, f"c{number}")])
        run_projections(str(told))
        if number == few // 2:
            assert not joined(told, "membership_changes")
    for number in (0, 1):
        commit(told / "facts", [teller.membership(TODAY - DAY, f"before {number}")])
        run_projections(str(told))
    before = Counter(map(str, read(told, "membership_changes")))
    each_day = files(told, "membership_changes")
    assert each_day["date=2026-03-10"] >= few
    assert each_day["date=2026-03-09"] == 2, "too few to be joined"

    assert joined(told, "membership_changes")

    assert files(told, "membership_changes") == each_day | {"date=2026-03-10": 1}
    assert Counter(map(str, read(told, "membership_changes"))) == before
    assert not joined(told, "membership_changes")


def joined(tables: Path, name: str) -> int:
    """How many files of this table a round between the hours joined."""
    found = {done.table: done.files_before for done in maintain(str(tables), MaintainOptions(), NOW, in_full=False)}
    return found.get(name, 0)


def test_files_that_are_large_enough_are_left_as_they_are(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teller = Teller(group="busy")
    for number in (0, 1):
        commit(told / "facts", [teller.membership(TODAY, f"c{number}")])
        run_projections(str(told))
    large = [teller.membership(TODAY, "a client with a long id " * 100 + str(number)) for number in range(500)]
    commit(told / "facts", large)
    run_projections(str(told))
    sizes = {Path(uri): Path(uri).stat().st_size for uri in DeltaTable(told / "membership_changes").file_uris()}
    largest = max(sizes, key=lambda file: sizes[file])
    monkeypatch.setattr("streaming.projections.maintain.LEAST_JOINED", 2)
    monkeypatch.setattr("streaming.projections.maintain.JOINED_BYTES", sizes[largest])

    days_of = {file: file.parent.name for file in sizes}
    assert joined(told, "membership_changes") == Counter(days_of.values())[days_of[largest]] - 1
    assert largest in map(Path, DeltaTable(told / "membership_changes").file_uris())


def entries(tables: Path, name: str) -> list[str]:
    return sorted(one.name for one in (tables / name / "_delta_log").iterdir() if one.name[0].isdigit())


def test_it_goes_on_until_it_is_stopped_and_maintains_current_tables_more_often(
    told: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stop = Event()
    caplog.set_level("INFO")
    keeper = Thread(target=maintain_regularly, args=(str(told), KEEP), kwargs={"stop": stop, "every_seconds": 0.01})
    keeper.start()
    deadline = time.monotonic() + 60
    while caplog.text.count("maintained queue_findings") < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    stop.set()
    keeper.join()
    assert caplog.text.count("maintained group_members") > caplog.text.count("maintained queue_findings")
    assert caplog.text.count("maintained group_members") >= ROUNDS_AN_HOUR
    assert "2026-03-10" not in days(told, "queue_findings")  # by the clock of today, all of it has expired
