"""Every query of docs/tables.md runs as it stands there, in Spark and in DuckDB, and finds what it says it finds."""

import re
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from schemas.facts import EvaluationFailedFact, EventsLostFact
from streaming.spark.projections import run_projections
from tests.spark.conftest import Tables
from tests.spark.telling import DAY, HOUR, SECOND, Teller, health, millis, quarantined

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"^```sql ([\w-]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
OPENING = dict(re.findall(r"^```python (\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
MINUTE = 60 * SECOND
NOW = time.time_ns() // 1_000_000


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
    run_projections(spark, tables.path)
    return tables


def in_spark(tables, now):
    exec(OPENING["spark"].replace("data/tables", tables.path), {"spark": tables.spark})
    return lambda name: [row.asDict(recursive=True) for row in tables.spark.sql(asked(name, now)).collect()]


def in_duckdb(tables, now):
    opened: dict[str, Any] = {}
    exec(OPENING["duckdb"].replace("data/tables", tables.path), opened)
    return lambda name: opened["db"].sql(asked(name, now)).to_arrow_table().to_pylist()


def asked(name, now):
    """The query as if it were asked at ``now`` (epoch ms), when the story ends: to write tables takes a while."""
    then = datetime.fromtimestamp(now / 1000, timezone.utc)
    return QUERIES[name].replace("now()", f"TIMESTAMP '{then:%Y-%m-%d %H:%M:%S.%f}'")


@pytest.fixture(scope="module", params=[in_spark, in_duckdb], ids=["spark", "duckdb"])
def ask(written, request):
    return request.param(written, NOW)


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
    (cost,) = ask("rebalance-cost")

    assert (cost["rebalances"], cost["queues_moved"], cost["moved_for_nothing"], cost["given_up"]) == (2, 6, 3, 0)
    assert (float(cost["seconds_on_average"]), float(cost["orphaned_queue_seconds"])) == (30, 12)


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

    assert {reason: row["records"] for reason, row in reasons.items()} == {"bad_json": 2, "too_long": 1}
    assert reasons["bad_json"]["newest_preview"] == '{"schema":'


def test_a_group_s_newest_status_decides_whether_it_is_covered(ask):
    assert [(row["consumer_group"], row["status"]) for row in ask("poorly-covered")] == [("order-service", "findings")]
