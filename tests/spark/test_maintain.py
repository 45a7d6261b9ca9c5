"""Maintenance: what it removes, what it must leave, and that nothing is lost while the job goes on."""

import os
import shutil
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Event, Thread

import pytest
from deltalake import DeltaTable

from schemas.tables import FACTS, MEMBERSHIP_CHANGES, QUEUE_ASSIGNMENTS
from streaming.spark.maintain import MaintainOptions, maintain, maintain_closed_days
from streaming.spark.projections import run_projections, start_projections
from streaming.spark.projections.conflicts import retried
from streaming.spark.projections.creation import create_tables
from tests.spark.conftest import Tables
from tests.spark.telling import DAY, HOUR, Teller, health, millis

pytestmark = pytest.mark.spark

NOW = datetime(2026, 3, 10, 12, tzinfo=timezone.utc)
TODAY = millis("2026-03-10 12:00")
KEEP = MaintainOptions(keep_days={"facts": 5, "queue_findings": 5, "alerts": 5, "group_status": 5, "monitor_health": 0})


def some_days():
    """Facts of 10 days ago, 3 days ago and today, two commits a day; the group's status last changed 10 days ago."""
    teller = Teller()
    for ts in (TODAY - 10 * DAY, TODAY - 3 * DAY, TODAY):
        for part in range(2):
            at = ts + part * HOUR
            yield [
                teller.queue(at, 0, "MATCH" if part else "ORPHANED", ("MATCH", at - HOUR)),
                teller.alert(at, ("firing", "resolved")[part]),
                teller.member(at, f"client-{ts}", present=not part),
                health("prod", at),
                *([teller.status(at, "healthy", MATCH=1)] if ts < TODAY - 5 * DAY else []),
            ]


@pytest.fixture(scope="module")
def finished(spark, tmp_path_factory):
    """Read it only; ``told`` is a copy to change."""
    tables = Tables(spark, tmp_path_factory.mktemp("finished"))
    for facts in some_days():
        tables.tell(facts)
    run_projections(spark, tables.path)
    return tables


def files(tables, name):
    """How many files each day of a table has in its newest snapshot."""
    return Counter(Path(uri).parent.name for uri in DeltaTable(f"{tables.path}/{name}").file_uris())


def days(tables, name):
    return sorted(row.day for row in tables.read(name).selectExpr("CAST(date AS STRING) AS day").distinct().collect())


@pytest.fixture(scope="module")
def maintained(finished, tmp_path_factory):
    """A copy after one round, in which replaced files of facts need not wait for queries that may be using them."""
    folder = tmp_path_factory.mktemp("maintained") / "tables"
    shutil.copytree(finished.path, folder)
    tables = Tables(finished.spark, folder)
    tables.spark.sql(
        f"ALTER TABLE delta.`{folder}/facts` SET TBLPROPERTIES"
        " ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    tables.done = {one.table: one for one in maintain(tables.spark, tables.path, KEEP, NOW)}
    return tables


def test_closed_days_are_compacted_expired_ones_dropped_and_today_left_alone(finished, maintained):
    done = maintained.done

    assert files(finished, "facts") == {"date=2026-02-28": 2, "date=2026-03-07": 2, "date=2026-03-10": 2}
    assert files(maintained, "facts") == {"date=2026-03-07": 1, "date=2026-03-10": 2}
    assert days(maintained, "queue_findings") == ["2026-03-07", "2026-03-10"]
    assert len(days(maintained, "monitor_health")) == 3  # 0 days is for ever
    assert maintained.read("facts").count() == finished.read("facts").where("date >= '2026-03-07'").count() == 16
    assert (done["facts"].rows_dropped, done["facts"].files_before, done["facts"].files_after) == (10, 2, 1)
    assert str(done["facts"]).startswith("facts: 10 rows dropped, 2 files compacted into 1, ")


def test_what_still_holds_outlives_its_retention(maintained):
    assert [row.seq for row in maintained.read("group_status").collect()] == [7]
    assert days(maintained, "alerts") == ["2026-03-07", "2026-03-10"]  # a newer row of the same alert is there


def test_tombstones_go_after_a_week(maintained):
    left = {row.client_id for row in maintained.read("group_members").collect()}

    assert left == {f"client-{TODAY - 3 * DAY}", f"client-{TODAY}"}


def test_replaced_files_are_deleted(maintained):
    on_disk = {path.name for path in Path(maintained.path, "facts").glob("date=*/*.parquet")}

    assert on_disk == {Path(uri).name for uri in DeltaTable(f"{maintained.path}/facts").file_uris()}


def test_a_day_with_very_many_files_is_compacted_before_it_ends(told):
    list(maintain(told.spark, told.path, MaintainOptions(files_a_day=2), NOW, only=[FACTS]))

    assert files(told, "facts")["date=2026-03-10"] == 1


def aged(told, log_hours):
    """A copy whose log was written so many hours ago, with a checkpoint in the middle and an append of now."""
    DeltaTable(f"{told.path}/facts").create_checkpoint()
    then = time.time() - log_hours * 3600
    for entry in Path(told.path, "facts", "_delta_log").iterdir():
        os.utime(entry, (then, then))
    shutil.copytree(told.path, f"{told.path}-aged")
    tables = Tables(told.spark, Path(f"{told.path}-aged"))
    tables.tell([Teller(group="audit").member(TODAY, "late")])
    return tables


def test_facts_that_the_projections_have_yet_to_read_are_kept_for_them(told):
    told.tell([Teller(group="audit").member(TODAY, "early")])
    tables = aged(told, log_hours=10)
    before = set(Path(tables.path, "facts").rglob("*.parquet"))

    done = {one.table: one for one in maintain(tables.spark, tables.path, KEEP, NOW, only=[FACTS])}
    run_projections(tables.spark, tables.path)

    assert "have yet to read them" in str(done["facts"])
    assert before <= set(Path(tables.path, "facts").rglob("*.parquet"))
    assert tables.read("group_members").where("consumer_group = 'audit'").count() == 2


def test_a_log_that_all_have_read_is_shortened(told):
    tables = aged(told, log_hours=50)
    run_projections(tables.spark, tables.path)
    rows = tables.read("facts").where("date >= '2026-03-07'").count()

    done = {one.table: one for one in maintain(tables.spark, tables.path, KEEP, NOW, only=[FACTS])}

    oldest = min(Path(tables.path, "facts", "_delta_log").glob("*.json")).name
    assert done["facts"].log_files_deleted >= 6
    assert oldest > f"{5:020d}"
    assert DeltaTable(f"{tables.path}/facts").to_pyarrow_dataset().count_rows() == rows
    tables.tell([Teller(group="audit").member(TODAY, "later")])
    run_projections(tables.spark, tables.path)
    assert tables.read("group_members").where("client_id = 'later'").count() == 1


def test_nothing_is_lost_while_the_job_goes_on(told):
    """Appends, the projections and maintenance at once; expired days go while the stream reads on."""
    stop, teller = Event(), Teller(group="busy")
    told_now = []

    def tell():
        while not stop.is_set():
            number = len(told_now)
            told.tell([teller.membership(TODAY, f"c{number}"), teller.queue(TODAY, number % 3, "MATCH")])
            told_now.append(number)

    live = start_projections(told.spark, told.path, seconds=0.1)
    writer = Thread(target=tell)
    writer.start()
    try:
        options = MaintainOptions(keep_days=KEEP.keep_days, files_a_day=1)
        reports = list(
            maintain(told.spark, told.path, options, NOW, only=[FACTS, MEMBERSHIP_CHANGES, QUEUE_ASSIGNMENTS])
        )
        stop.set()
        writer.join()
        live.query.processAllAvailable()
        assert live.query.exception() is None
    finally:
        stop.set()
        live.stop()

    changes = told.read("membership_changes").where("consumer_group = 'busy'").select("client_id").collect()
    newest = told.read("queue_assignments").where("consumer_group = 'busy'").selectExpr("max(seq)").first()[0]
    assert Counter(row.client_id for row in changes) == {f"c{number}": 1 for number in told_now}
    assert told.read("facts").where("`group` = 'busy'").count() == 2 * len(told_now)
    assert newest == 2 * len(told_now) - 1
    assert "2026-02-28" not in days(told, "facts")
    assert {report.table: report.rows_dropped for report in reports}["facts"] == 10


def test_a_commit_that_loses_a_race_is_computed_again(tables):
    """Two merges of one table: with Delta's own retry alone, one of them fails."""
    create_tables(tables.spark, tables.path)
    path = f"{tables.path}/group_members"
    tables.spark.sql(f"INSERT INTO delta.`{path}` (client_id, seq) VALUES ('a', 0)")
    failed = []

    def add(times):
        for _ in range(times):
            try:
                retried(lambda: tables.spark.sql(f"UPDATE delta.`{path}` SET seq = seq + 1"), tries=20)
            except Exception as error:
                failed.append(error)

    threads = [Thread(target=add, args=(3,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failed
    assert tables.read("group_members").first().seq == 6


def test_the_job_maintains_hourly_until_it_stops(told):
    stop = Event()
    keeper = Thread(
        target=maintain_closed_days, args=(told.spark, told.path, KEEP), kwargs={"stop": stop, "every_seconds": 0.1}
    )
    keeper.start()
    limit = datetime.now(timezone.utc) + timedelta(seconds=100)
    while "2026-03-10" in days(told, "facts") and datetime.now(timezone.utc) < limit:
        time.sleep(0.5)
    stop.set()
    keeper.join()

    assert not told.read("facts").count()  # by the clock of today, all of it has expired
