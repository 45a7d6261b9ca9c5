"""Every query of docs/tables.md runs as it stands there, in Spark and in DuckDB, and finds what it says it finds."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.facts import AlertFact, EvaluationFailedFact, EventsLostFact, Severity
from streaming.notices.notice import Notice, OpenAlert, Text
from streaming.notifier.notifications_table import Delivery, NotificationsTable
from streaming.notifier.silence_files import FOLDER, SilenceFiles
from streaming.notifier.silences import Silence
from streaming.projections.projector import run_projections
from streaming.sql.database import VIEWS
from streaming.wall_clock import now_ms
from tests.spark.conftest import Tables
from tests.tables.telling import DAY, HOUR, SECOND, Teller, health, millis, quarantined

pytestmark = [pytest.mark.deep("tables of their own, written by Spark for a minute and more"), pytest.mark.spark]

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"^```sql ([\w-]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
OPENING = dict(re.findall(r"^```python (\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
MINUTE = 60 * SECOND
NOW = now_ms()


def story(now):
    """Queue 0 of order-service was right on 1 March, orphaned for 90 minutes yesterday, and is again for 30 now."""
    orders, audit, march = Teller(), Teller(group="audit", topic="Audits"), millis("2026-03-01 00:00")
    healed, broken = now - DAY + 90 * MINUTE, now - 30 * MINUTE
    return [
        orders.queue(march, 0, "MATCH", owners=("a",)),
        orders.queue(march + DAY, 0, "SETTLING", ("MATCH", march), owners=("a", "b")),
        orders.queue(now - DAY, 0, "ORPHANED", ("SETTLING", march + DAY), owners=()),
        orders.queue(healed, 0, "MATCH", ("ORPHANED", now - DAY), owners=("a",)),
        orders.queue(broken, 0, "ORPHANED", ("MATCH", healed), severity="critical", owners=()),
        orders.queue(now - 9 * DAY, 1, "MATCH", owners=("a",)),
        orders.queue(now - HOUR, 2, "MATCH", present=False),
        orders.member(now - 9 * DAY, "a", version="V5_3_3", language="JAVA", brokers=("broker-a",)),
        orders.member(now - DAY, "b", present=False),
        orders.membership(now - DAY, "b"),
        orders.membership(now - DAY + MINUTE, "b", "disappeared"),
        orders.rebalance(now - DAY, 40 * SECOND, 5, 2, orphaned=12 * SECOND),
        orders.rebalance(now - DAY, 20 * SECOND, 1, None),
        orders.alert(now - DAY, "firing"),
        orders.alert(healed, "resolved", active=now - DAY),
        orders.alert(broken, "firing"),
        orders.status(now - DAY, "healthy", MATCH=2),
        orders.status(broken, "findings", MATCH=1, ORPHANED=1),
        orders._fact(now, EvaluationFailedFact(error="KeyError: 'x'", where="evaluate")),
        orders._fact(now, EventsLostFact(source="tap-1", expected_seq=5, received_seq=9)),
        Teller(group="calm").rebalance(now - DAY, 7 * SECOND, 3, 3),
        audit.queue(now - 9 * DAY, 0, "DUPLICATED", owners=("c", "c"), severity="critical", cause="SAME_CLIENT_ID"),
        audit.alert(now - HOUR, "pending", kind="DUPLICATED"),
        *[health("prod", now - n * 15 * SECOND) for n in range(4)],
        health("prod", now - 10 * MINUTE, quarantined=2),
        quarantined(now - HOUR, 11),
        quarantined(now, 12),
        quarantined(now, 13, reason="too_long"),
    ]


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    tables = Tables(spark, tmp_path_factory.mktemp("written"))
    tables.tell(story(NOW))
    run_projections(tables.path)
    notify(tables.path, tmp_path_factory.mktemp("outcomes"))
    return tables


def notify(tables, folder):
    """An hour ago the page of audit was missed, after it had failed; that of order-service was delivered after 7 s."""
    rows = NotificationsTable(tables, folder)
    orders, audit = (only_alert(group) for group in ("order-service", "audit"))
    for alert, sink, outcome, ts in [
        (orders, "chat", "delivered", NOW - 30 * MINUTE + 7 * SECOND),
        (audit, "chat", "failed", NOW - HOUR),
        (audit, "chat", "missed", NOW - HOUR + MINUTE),
    ]:
        notice = Notice(
            key=f"key of {alert.group}",
            status="firing",
            severity=Severity.CRITICAL,
            cluster="prod",
            groups=(alert.group,),
            cause=None,
            alerts=(alert,),
            since_ts=NOW - HOUR,
        )
        rows.add(Delivery(sink, outcome, None, notice, Text(f"[CRITICAL] {alert.group}", ""), ts))
    rows.write()


def only_alert(group):
    """The group's newest."""
    fact = [f for f in story(NOW) if f.group == group and isinstance(f.payload, AlertFact)][-1]
    return OpenAlert(fact.cluster, fact.group, fact.topic, fact.ts, fact.seq, fact.payload)


def silence(folder):
    """One that holds, and one that is over."""
    kept = SilenceFiles(folder)
    common = {"cluster": "prod", "by": "Ada", "why": "deploy"}
    kept.add(Silence(id="on", group="orders-*", from_ts=NOW - HOUR, until_ts=NOW + HOUR, **common))
    kept.add(Silence(id="over", group="audit", from_ts=NOW - 2 * HOUR, until_ts=NOW - HOUR, **common))
    return str(folder / FOLDER)


def in_spark(tables, now, silences=None):
    opened: dict[str, Any] = {"spark": tables.spark}
    exec(opening("spark", tables, now), opened)
    if silences:
        exec(OPENING["silences_spark"].replace("data/notifier/silences", silences), opened)
    return lambda name: [row.asDict(recursive=True) for row in tables.spark.sql(asked(name, now)).collect()]


def in_duckdb(tables, now, silences=None):
    opened: dict[str, Any] = {}
    exec(opening("duckdb", tables, now), opened)
    if silences:
        exec(OPENING["silences_duckdb"].replace("data/notifier/silences", silences), opened)
    return lambda name: opened["db"].sql(asked(name, now)).to_arrow_table().to_pylist()


def opening(engine, tables, now):
    """The page's code for the tables of the test, with the views as ``evenkeel sql --views`` prints them."""
    views = Path(f"{tables.path}-views.sql")
    views.write_text(as_of_time(VIEWS.read_text(encoding="utf-8"), now), encoding="utf-8")
    return OPENING[engine].replace("data/tables", tables.path).replace('Path("views.sql")', f"Path({str(views)!r})")


def asked(name, now):
    return as_of_time(QUERIES[name], now)


def as_of_time(sql, now):
    """SQL as if it were asked at ``now`` (epoch ms), when the story ends: to write tables takes a while."""
    then = datetime.fromtimestamp(now / 1000, UTC)
    return sql.replace("now()", f"TIMESTAMP '{then:%Y-%m-%d %H:%M:%S.%f}'")


@pytest.fixture(scope="module", params=[in_spark, in_duckdb], ids=["spark", "duckdb"])
def ask(written, request, tmp_path_factory):
    return request.param(written, NOW, silence(tmp_path_factory.mktemp("notifier")))


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_of_the_page_finds_something(ask, name):
    assert ask(name)


def test_every_block_of_sql_has_a_name():
    assert len(re.findall(r"^```sql", PAGE, re.MULTILINE)) == len(QUERIES) > 15


def test_broken_now_lists_what_is_broken_and_nothing_else(ask):
    found = [
        (row["consumer_group"], row["queue_id"], row["finding"], row["actual_owners"]) for row in ask("broken-now")
    ]

    assert found == [("audit", 0, "DUPLICATED", ["c", "c"]), ("order-service", 0, "ORPHANED", [])]


def test_a_group_s_harm_is_counted_within_the_week_and_until_now(ask):
    harm = {row["finding"]: row for row in ask("harm-last-week")}

    assert (harm["ORPHANED"]["intervals"], harm["ORPHANED"]["queues"]) == (2, 1)
    assert 120 <= float(harm["ORPHANED"]["queue_minutes"]) < 130
    assert 7 * 24 * 60 - 1 <= float(harm["DUPLICATED"]["queue_minutes"]) <= 7 * 24 * 60


def test_the_owner_at_a_time_is_that_of_the_interval_around_it(ask):
    assert [(row["finding"], row["actual_owners"]) for row in ask("owner-at")] == [("MATCH", ["b"])]


def test_a_queue_s_history_goes_from_its_first_interval_until_now(ask):
    history = ask("queue-history")

    assert [row["finding"] for row in history] == ["MATCH", "SETTLING", "ORPHANED", "MATCH", "ORPHANED"]
    assert [row["to_time"] for row in history[:-1]] == [row["from_time"] for row in history[1:]]
    assert history[-1]["to_time"] is None


def test_rebalances_are_summed_up(ask):
    (cost,) = [row for row in ask("rebalance-cost") if row["consumer_group"] == "order-service"]

    assert (cost["rebalances"], cost["queues_moved"], cost["moved_for_nothing"], cost["given_up"]) == (2, 6, 3, 0)
    assert (float(cost["seconds_on_average"]), float(cost["orphaned_queue_seconds"])) == (30, 12)


def test_the_slowest_rebalances_leave_out_those_of_incidents(ask):
    """Both of order-service ended as its alert of a day ago began."""
    assert [(row["consumer_group"], float(row["seconds"])) for row in ask("slowest-rebalances")] == [("calm", 7)]


def test_open_alerts_are_those_whose_newest_row_is_open(ask):
    assert [(row["kind"], row["state"]) for row in ask("open-alerts")] == [
        ("DUPLICATED", "pending"),
        ("ORPHANED", "firing"),
    ]


def test_a_gap_in_the_heartbeat_is_found(ask):
    (gap,) = ask("blind-spots")

    assert float(gap["silent_seconds"]) == 555


def test_members_own_what_they_report(ask):
    assert [(row["client_id"], row["queues_owned"]) for row in ask("members")] == [("a", 1)]


def test_reasons_of_quarantine_are_counted(ask):
    reasons = {row["reason"]: row for row in ask("quarantine-reasons")}

    assert {reason: int(row["events"]) for reason, row in reasons.items()} == {"bad_json": 2, "too_long": 1}
    assert reasons["bad_json"]["newest_preview"] == '{"schema":'


def test_a_group_s_newest_status_decides_whether_it_is_covered(ask):
    assert [(row["consumer_group"], row["status"]) for row in ask("poorly-covered")] == [("order-service", "findings")]


def test_what_was_told_is_found_and_what_did_not_arrive(ask):
    assert [(row["sink"], row["outcome"]) for row in ask("notified")] == [
        ("chat", "delivered"), ("chat", "missed"), ("chat", "failed"),
    ]  # fmt: skip
    assert [(row["key"], row["outcome"]) for row in ask("undelivered")] == [("key of audit", "missed")]
    newest, before = [row for row in ask("told-after") if row["consumer_group"] == "order-service"]
    assert float(newest["seconds"]) == 7
    assert (before["delivered_time"], before["seconds"]) == (None, None)


def test_only_silences_that_hold_are_listed(ask):
    assert [(row["id"], row["consumer_group"], row["who"]) for row in ask("silenced")] == [("on", "orders-*", "Ada")]


def test_a_table_is_shown_as_it_stood(written):
    """As the page has it, but at the time of its first commit, which made it, and of its last."""
    path = f"{written.path}/queue_assignments"
    made, *_, last = sorted(Path(path, "_delta_log").glob("*.json"))
    alone = written.spark.newSession()  # its views are nobody else's
    opened: dict[str, Any] = {"spark": alone, "tables": written.path}
    exec(opening("duckdb", written, NOW), opened)
    for commit, rows in ((made, 0), (last, 4)):
        then = datetime.fromtimestamp(commit.stat().st_mtime, UTC)
        exec(at(OPENING["time_travel_duckdb"], then), opened)
        exec(at(OPENING["time_travel_spark"], then), opened)
        assert len(opened["db"].sql("SELECT * FROM queue_assignments")) == rows
        assert alone.table("queue_assignments").count() == rows


def at(code, then):
    return re.sub(r'(?m)^then = ".*"$', f'then = "{then:%Y-%m-%dT%H:%M:%S.%fZ}"', code)
