"""Maintenance of facts: what it removes, what it must leave, and that nothing is lost while the job goes on."""

import os
import shutil
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from deltalake import DeltaTable
from tenacity import stop_after_attempt

from streaming.projections.projector import run_projections
from streaming.spark.maintain import maintain_facts, maintain_regularly
from streaming.tables.conflicts import retried
from streaming.tables.log_files import LogFiles
from streaming.tables.maintenance import MaintainOptions
from testing.damage import cut
from tests.projections.story import NOW, TODAY, some_days
from tests.spark.conftest import Tables
from tests.tables.telling import Teller, health

pytestmark = [pytest.mark.deep("tables of their own, written by Spark for a minute and more"), pytest.mark.spark]

KEEP = MaintainOptions(keep_days={"facts": 5})


@pytest.fixture(scope="module")
def finished(spark, tmp_path_factory):
    """Read it only; ``told`` is a copy to change."""
    tables = Tables(spark, tmp_path_factory.mktemp("finished"))
    for facts in some_days():
        tables.tell(facts)
    run_projections(tables.path)
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
    tables.done = maintain_facts(tables.spark, tables.path, KEEP, NOW)
    return tables


def test_closed_days_are_compacted_expired_ones_dropped_and_today_left_alone(finished, maintained):
    done = maintained.done

    assert files(finished, "facts") == {"date=2026-02-28": 2, "date=2026-03-07": 2, "date=2026-03-10": 2}
    assert files(maintained, "facts") == {"date=2026-03-07": 1, "date=2026-03-10": 2}
    assert maintained.read("facts").count() == finished.read("facts").where("date >= '2026-03-07'").count() == 16
    assert (done.rows_dropped, done.files_before, done.files_after) == (10, 2, 1)
    assert str(done).startswith("facts: 10 rows dropped, 2 files compacted into 1, ")


def test_other_tables_are_left_to_deltalake(finished, maintained):
    assert files(maintained, "alerts") == files(finished, "alerts")


def test_replaced_files_are_deleted(maintained):
    on_disk = {path.name for path in Path(maintained.path, "facts").glob("date=*/*.parquet")}

    assert on_disk == {Path(uri).name for uri in DeltaTable(f"{maintained.path}/facts").file_uris()}


def test_a_day_with_very_many_files_is_compacted_before_it_ends(told):
    maintain_facts(told.spark, told.path, MaintainOptions(files_a_day=2), NOW)

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

    done = maintain_facts(tables.spark, tables.path, KEEP, NOW)
    run_projections(tables.path)

    assert "have yet to read them" in str(done)
    assert before <= set(Path(tables.path, "facts").rglob("*.parquet"))
    assert tables.read("group_members").where("consumer_group = 'audit'").count() == 2


@pytest.mark.parametrize("log_hours", [2, 50])
def test_a_log_that_all_have_read_is_shortened(told, log_hours):
    tables = aged(told, log_hours)
    run_projections(tables.path)
    rows = tables.read("facts").where("date >= '2026-03-07'").count()

    done = maintain_facts(tables.spark, tables.path, KEEP, NOW)

    oldest = min(Path(tables.path, "facts", "_delta_log").glob("*.json")).name
    assert done.log_files_deleted >= 6
    assert oldest > f"{5:020d}"
    assert DeltaTable(f"{tables.path}/facts").to_pyarrow_dataset().count_rows() == rows
    tables.tell([Teller(group="audit").member(TODAY, "later")])
    run_projections(tables.path)
    assert tables.read("group_members").where("client_id = 'later'").count() == 1


def test_a_batch_that_has_opened_the_table_can_read_it_after_a_round(told):
    """Delta reads a checkpoint only when it needs it, perhaps after a newer one has been written."""
    tables = aged(told, 2)
    run_projections(tables.path)
    jvm = tables.spark._jvm
    log, nothing = jvm.org.apache.spark.sql.delta.DeltaLog, jvm.scala.Option.empty()
    opened = log.forTable(tables.spark._jsparkSession, f"{tables.path}/facts")
    snapshot = opened.update(False, nothing, nothing)

    maintain_facts(tables.spark, tables.path, KEEP, NOW, in_full=False)

    assert opened.update(False, nothing, nothing).checkpointProvider().version() == snapshot.version()
    assert snapshot.checkpointProvider().version() < snapshot.version()
    assert snapshot.allFiles().count() == len(DeltaTable(f"{tables.path}/facts").file_uris())


def test_a_commit_without_its_end_is_left_for_a_reseed(told):
    log = Path(told.path, "facts", "_delta_log")
    cut(newest := max(log.glob("*.json")))
    before = {file: file.read_bytes() for file in log.rglob("*.*")}

    done = maintain_facts(told.spark, told.path, KEEP, NOW)

    assert f"left as it is: commit {int(newest.stem)} damaged by a failure of the machine" in str(done)
    assert {file: file.read_bytes() for file in log.rglob("*.*")} == before


def test_files_that_the_job_adds_meanwhile_do_not_count(told, monkeypatch):
    """A commit between the look at the log, of which nothing is old, and the deletion."""
    run_projections(told.path)
    maintain_facts(told.spark, told.path, KEEP, NOW)
    delete, asked = LogFiles.delete_before, []

    def after_a_commit(files, version):
        asked.append(version)
        told.tell([Teller(group="audit").member(TODAY, "later")])
        return delete(files, version)

    monkeypatch.setattr(LogFiles, "delete_before", after_a_commit)

    assert maintain_facts(told.spark, told.path, KEEP, NOW, in_full=False) is None
    assert len(asked) == 1


def test_nothing_is_lost_while_the_job_goes_on(told):
    """Appends, the projections and maintenance at once; expired days go while the projections read on."""
    stop, teller = Event(), Teller(group="busy")
    told_now = []

    def tell():
        while not stop.is_set():
            number = len(told_now)
            told.tell([teller.membership(TODAY, f"c{number}"), teller.queue(TODAY, number % 3, "MATCH")])
            told_now.append(number)
            run_projections(told.path)

    writer = Thread(target=tell)
    writer.start()
    try:
        options = MaintainOptions(keep_days=KEEP.keep_days, files_a_day=1)
        report = maintain_facts(told.spark, told.path, options, NOW)
    finally:
        stop.set()
        writer.join()
    run_projections(told.path)

    changes = told.read("membership_changes").where("consumer_group = 'busy'").select("client_id").collect()
    newest = told.read("queue_assignments").where("consumer_group = 'busy'").selectExpr("max(seq)").first()[0]
    assert Counter(row.client_id for row in changes) == {f"c{number}": 1 for number in told_now}
    assert told.read("facts").where("`group` = 'busy'").count() == 2 * len(told_now)
    assert newest == 2 * len(told_now) - 1
    assert "2026-02-28" not in days(told, "facts")
    assert report.rows_dropped == 10


def test_a_commit_that_loses_a_race_is_computed_again(tables):
    """Two updates of one table: with Delta's own retry alone, one of them fails."""
    path = f"{tables.path}/facts"
    tables.tell([health("prod", TODAY)])
    failed = []

    def add(times):
        for _ in range(times):
            try:
                retried.copy(stop=stop_after_attempt(20))(tables.spark.sql, f"UPDATE delta.`{path}` SET seq = seq + 1")
            except Exception as error:
                failed.append(error)

    threads = [Thread(target=add, args=(3,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failed
    assert tables.read("facts").first().seq == 6


def test_the_job_maintains_hourly_until_it_stops(told):
    stop = Event()
    keeper = Thread(
        target=maintain_regularly, args=(told.spark, told.path, KEEP), kwargs={"stop": stop, "every_seconds": 0.1}
    )
    keeper.start()
    limit = datetime.now(UTC) + timedelta(seconds=100)
    while "2026-03-10" in days(told, "facts") and datetime.now(UTC) < limit:
        time.sleep(0.5)
    stop.set()
    keeper.join()

    assert not told.read("facts").count()  # by the clock of today, all of it has expired
