"""The projections: the same rows whatever happens to batches, files and checkpoints."""

import shutil
import time
from collections import Counter
from datetime import timezone
from pathlib import Path
from threading import Event, Thread

import pytest
from deltalake import DeltaTable

from schemas.facts import EvaluationFailedFact, EventsLostFact, MemberFact, QueueFact
from schemas.tables import CURRENT, PROJECTIONS, QUEUE_FINDINGS, TABLES
from streaming.errors import CheckpointError
from streaming.spark.projections import run_projections, start_projections
from streaming.spark.projections.appended import appended
from streaming.spark.projections.batch import project
from streaming.spark.projections.creation import create_tables
from streaming.spark.projections.position import CHECKPOINT
from streaming.spark.rebuild import rebuild
from tests.spark.conftest import Tables
from tests.spark.telling import DAY, HOUR, SECOND, Teller, health, millis, quarantined

pytestmark = pytest.mark.spark

START = millis("2026-03-01 12:00")


def three_days():
    """What was told on each of three days: every table gets rows, current state changes every day."""
    teller, days = Teller(), []
    for day in range(3):
        at = START + day * DAY
        days.append(
            [
                teller.queue(at, 0, "ORPHANED", ("MATCH", at - DAY) if day else None, owners=(), severity="critical"),
                teller.queue(at + HOUR, 0, "MATCH", ("ORPHANED", at), owners=(f"client-{day}",)),
                teller.queue(at, 1, "MATCH", present=day < 2),
                teller.member(at, "a", brokers=("broker-a",), start_ts=at),
                teller.member(at, f"b{day}"),
                teller.member(at + HOUR, f"b{day}", present=False),
                teller.membership(at, f"b{day}"),
                teller.membership(at + HOUR, f"b{day}", "disappeared"),
                teller.rebalance(at + HOUR, 20 * SECOND, 3, 2, orphaned=9000),
                teller.alert(at, "firing"),
                teller.alert(at + HOUR, "resolved"),
                teller.status(at, "findings", MATCH=1, ORPHANED=1),
                teller._fact(at, EvaluationFailedFact(error="KeyError", where="evaluate")),
                teller._fact(at, EventsLostFact(source="tap-1", expected_seq=5, received_seq=9)),
                health("prod", at),
                quarantined(at, day),
            ]
        )
    return days


@pytest.fixture(scope="module")
def finished(spark, tmp_path_factory):
    """Three days told and projected, a commit a day. Read it only; ``told`` is a copy to change."""
    tables = Tables(spark, tmp_path_factory.mktemp("finished"))
    for day in three_days():
        tables.tell(day)
    run_projections(spark, tables.path)
    return tables


def rows(tables, name):
    """Rows of a table, each as often as it is there."""
    return Counter(str(sorted(row.asDict(recursive=True).items())) for row in tables.read(name).collect())


def assert_same_rows(tables, others):
    for table in PROJECTIONS:
        assert rows(tables, table.name) == rows(others, table.name), table.name


def one(tables, name, where):
    (row,) = tables.read(name).where(where).collect()
    return row


def utc(time):
    """Spark hands out local time without a zone."""
    return f"{time.astimezone(timezone.utc):%Y-%m-%d %H:%M}"


def test_history_has_a_row_a_fact_and_current_state_a_row_a_thing(finished):
    counts = {table.name: finished.read(table.name).count() for table in PROJECTIONS}

    assert counts == {
        "queue_findings": 5,  # the first interval of a queue has none before it
        "membership_changes": 6,
        "rebalances": 3,
        "alerts": 6,
        "group_status": 3,
        "quarantine": 3,
        "monitor_health": 3,
        "monitor_faults": 6,
        "queue_assignments": 2,
        "group_members": 4,
    }


def test_an_ended_interval_tells_what_held_and_for_how_long(finished):
    row = one(finished, "queue_findings", "date = '2026-03-02' AND finding = 'ORPHANED'")

    assert (row.cluster, row.consumer_group, row.topic, row.broker_name, row.queue_id) == (
        "prod", "order-service", "Orders", "broker-a", 0,
    )  # fmt: skip
    assert (utc(row.from_time), utc(row.to_time)) == ("2026-03-02 12:00", "2026-03-02 13:00")
    assert (row.duration_ms, row.next_finding) == (HOUR, "MATCH")
    assert (row.expected_owners, row.actual_owners) == (["a"], ["b"])


def test_current_state_is_what_was_told_last(finished):
    queue = one(finished, "queue_assignments", "queue_id = 0")
    gone = one(finished, "group_members", "client_id = 'b2'")

    assert (queue.finding, queue.severity, queue.actual_owners) == ("MATCH", "none", ["client-2"])
    assert utc(queue.since) == "2026-03-03 13:00"
    assert not one(finished, "queue_assignments", "queue_id = 1").present
    assert (gone.present, utc(gone.since)) == (False, "2026-03-03 13:00")
    assert utc(one(finished, "group_members", "client_id = 'a'").start_time) == "2026-03-03 12:00"


def test_alerts_health_and_faults_keep_what_the_facts_say(finished):
    alert = one(finished, "alerts", "date = '2026-03-01' AND state = 'firing'")
    lost = one(finished, "monitor_faults", "date = '2026-03-01' AND fault = 'events_lost'")

    assert alert.queues[0].asDict() == {
        "broker_name": "broker-a", "queue_id": 0, "actual_owners": [], "expected_owners": ["a"], "waiting": 7,
    }  # fmt: skip
    (client,), (change,) = alert.clients, alert.changes
    assert (client.client_id, client.brokers, utc(client.start_times[0])) == ("a", ["broker-a"], "2026-03-01 12:00")
    assert (utc(client.answered_time), utc(change.change_time)) == ("2026-03-01 12:00", "2026-03-01 11:59")
    assert (change.what, change.subject) == ("left", "b")
    assert (alert.waiting, utc(alert.since_time), utc(alert.oldest_time)) == (7, "2026-03-01 11:59", "2026-03-01 11:59")
    assert (utc(alert.fired_time), alert.resolved_time) == ("2026-03-01 12:00", None)
    assert (lost.source, lost.events_lost, lost.error) == ("tap-1", 4, None)
    assert one(finished, "monitor_health", "date = '2026-03-01'").lag_ms == 900
    assert one(finished, "group_status", "date = '2026-03-01'").finding_counts == {"MATCH": 1, "ORPHANED": 1}


def test_readers_without_a_jvm_see_the_same_rows_and_comments(finished):
    for table in TABLES:
        delta = DeltaTable(f"{finished.path}/{table.name}")
        comments = {field.name: field.metadata.get("comment") for field in delta.schema().fields}

        assert delta.to_pyarrow_dataset().count_rows() == finished.read(table.name).count()
        assert comments == {column.name: column.comment for column in table.columns}
        assert delta.metadata().description == table.comment
        assert delta.metadata().configuration["delta.enableDeletionVectors"] == "false"


def test_bytes_that_are_no_text_are_readable_and_kept(tables):
    create_tables(tables.spark, tables.path)
    facts = [quarantined(START, 7, key=b"\xff/\xfe", value=b"\xff\xfe{"), quarantined(0, 8)]

    project(tables.rows(facts), 0, tables=tables.path, identity="x", done={})

    kept = DeltaTable(f"{tables.path}/quarantine").to_pyarrow_table(filters=[("source_offset", "=", 7)]).to_pylist()[0]
    assert (kept["record_key"], kept["preview"], kept["value"]) == ("�/�", "��{", b"\xff\xfe{")
    assert (kept["cluster"], kept["source_partition"]) == (None, 3)


def test_a_batch_that_comes_again_leaves_no_duplicates(finished, told):
    committed = sorted(Path(told.path, CHECKPOINT, "commits").glob("[0-9]*"))
    committed[-1].unlink()  # as after a crash between the last write and the commit
    Path(told.path, CHECKPOINT, "commits", f".{committed[-1].name}.crc").unlink(missing_ok=True)

    run_projections(told.spark, told.path)

    assert len(list(Path(told.path, CHECKPOINT, "commits").glob("[0-9]*"))) == len(committed)
    assert_same_rows(told, finished)


def test_a_batch_cut_short_between_two_tables_is_completed(finished, tables):
    create_tables(tables.spark, tables.path)
    facts = [fact for day in three_days() for fact in day]
    shutil.rmtree(f"{tables.path}/group_members")  # the last table to be written

    with pytest.raises(Exception, match="DELTA_"):
        project(tables.rows(facts), 0, tables=tables.path, identity="x", done={})
    assert rows(tables, "alerts") == rows(finished, "alerts")
    create_tables(tables.spark, tables.path)
    done = appended(tables.spark, tables.path, "x")
    assert set(done.values()) == {0}
    assert appended(tables.spark, tables.path, "another checkpoint") == {}
    project(tables.rows(facts), 0, tables=tables.path, identity="x", done=done)

    assert_same_rows(tables, finished)


def of_queues_and_members(day):
    return [fact for fact in day if isinstance(fact.payload, QueueFact | MemberFact)]


def test_days_in_any_order_lead_to_the_same_rows(finished, tables):
    create_tables(tables.spark, tables.path)

    for batch_id, day in enumerate(reversed(three_days())):
        project(tables.rows(of_queues_and_members(day)), batch_id, tables=tables.path, identity="x", done={})

    for table in (*CURRENT, QUEUE_FINDINGS):
        assert rows(tables, table.name) == rows(finished, table.name), table.name


def test_rebuild_after_compaction_gives_the_same_rows(finished, told):
    told.spark.sql(f"OPTIMIZE delta.`{told.path}/facts`")
    told.spark.sql(f"DELETE FROM delta.`{told.path}/alerts` WHERE state = 'firing'")  # what a rebuild is for
    told.spark.sql(f"UPDATE delta.`{told.path}/queue_assignments` SET finding = 'MATCH', seq = 999999")

    heard: list[tuple[int, int]] = []
    counts = rebuild(told.spark, told.path, lambda done, of: heard.append((done, of)))

    assert_same_rows(told, finished)
    assert counts["alerts"] == 6
    facts = told.read("facts").count()
    assert {of for _, of in heard} == {facts}
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


def test_without_its_checkpoint_it_begins_anew_and_keeps_rows_whose_facts_have_expired(told):
    quiet = "UPDATE delta.`{}/group_members` SET ts = '2026-03-01 12:00:00' WHERE client_id = 'b0'"
    told.spark.sql(quiet.format(told.path))
    before = {table.name: rows(told, table.name) for table in PROJECTIONS}
    told.spark.sql(f"DELETE FROM delta.`{told.path}/facts` WHERE date < '2026-03-03'")
    shutil.rmtree(Path(told.path, CHECKPOINT))

    run_projections(told.spark, told.path)

    assert {table.name: rows(told, table.name) for table in PROJECTIONS} == before


def test_a_checkpoint_too_old_for_the_log_begins_anew(finished, told):
    more = Teller(group="audit")
    told.tell([more.member(START + 3 * DAY, "c")])
    told.tell([more.member(START + 4 * DAY, "d")])
    DeltaTable(f"{told.path}/facts").create_checkpoint()
    *old, _ = sorted(Path(told.path, "facts", "_delta_log").glob("*.json"))
    for entry in old:
        entry.unlink()  # as after a long time

    run_projections(told.spark, told.path)

    assert told.read("group_members").where("consumer_group = 'audit'").count() == 2
    assert rows(told, "alerts") == rows(finished, "alerts")


def test_the_live_stream_works_in_its_own_pool_and_is_the_only_writer(told):
    seen, done = Event(), Event()
    pool = told.spark.sparkContext._jsc.sc().getPoolForName("projections").get()

    def watch():
        while not done.is_set():
            if pool.getSortedTaskSetQueue().size():
                seen.set()
            time.sleep(0.002)

    watcher = Thread(target=watch)
    watcher.start()
    live = start_projections(told.spark, told.path, seconds=1)
    try:
        told.tell([Teller(group="audit").member(START + 3 * DAY, "c")])
        live.query.processAllAvailable()
        with pytest.raises(CheckpointError, match="are being written by process"):
            rebuild(told.spark, told.path)
    finally:
        live.stop()
        done.set()
        watcher.join()

    assert seen.is_set()
    assert told.spark.sparkContext.getLocalProperty("spark.scheduler.pool") != "projections"
    assert one(told, "group_members", "consumer_group = 'audit'").client_id == "c"
    run_projections(told.spark, told.path)  # the lock is free again
