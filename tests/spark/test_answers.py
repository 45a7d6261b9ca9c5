"""The queries of docs/tables.md give the true answer, over tables made from scenes in which it is known."""

from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.facts import QueueFact
from streaming.projections.projector import run_projections
from streaming.wall_clock import now_ms
from tests.spark import scenes
from tests.spark.conftest import Tables
from tests.spark.scenes import MINUTE, SECOND, watch
from tests.spark.test_tables_doc import QUERIES, in_duckdb, in_spark

pytestmark = [pytest.mark.deep("tables of their own, written by Spark for a minute and more"), pytest.mark.spark]

NOW = now_ms()
STOPPED = NOW - 30 * MINUTE


def story() -> list[Any]:
    of_nobody = watch("", NOW - 60 * MINUTE, NOW - 50 * MINUTE, dead=(0, NOW))
    return [
        *of_nobody,
        *watch("prod", NOW - 40 * MINUTE, NOW, dead=(NOW - 30 * MINUTE, NOW - 20 * MINUTE)),
        *watch("late", NOW - 40 * MINUTE, NOW, late=(NOW - 15 * MINUTE, NOW - 5 * MINUTE)),
        *watch("stopped", NOW - 50 * MINUTE, STOPPED),
        *scenes.first_seen(NOW),
        *scenes.joined(NOW),
        *scenes.silent_clients(NOW),
        *scenes.retries(NOW, "idle-retries", rate=0),
        *scenes.retries(NOW, "retries", rate=4),
        *scenes.owned_twice(NOW),
        *scenes.orphaned(STOPPED),
    ]


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    tables = Tables(spark, tmp_path_factory.mktemp("answers"))
    tables.tell(story())
    run_projections(tables.path)
    return tables


@pytest.fixture(scope="module", params=[in_spark, in_duckdb], ids=["spark", "duckdb"])
def ask(written, request):
    return request.param(written, NOW)


def seconds_from(when: datetime | None, ms: int) -> float:
    assert when is not None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return abs(aware.timestamp() - ms / SECOND)


def of(rows: list[dict[str, Any]], **wanted: object) -> list[dict[str, Any]]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_blind_spots_are_a_dead_collector_a_late_job_and_a_gap_that_is_still_open(ask):
    gaps = {row["cluster"]: row for row in ask("blind-spots")}

    assert gaps.keys() == {"prod", "late", "stopped"}
    assert len(ask("blind-spots")) == 3
    assert seconds_from(gaps["prod"]["from_time"], NOW - 30 * MINUTE) <= 16
    assert seconds_from(gaps["prod"]["to_time"], NOW - 20 * MINUTE) <= 16
    assert 600 <= float(gaps["prod"]["silent_seconds"]) <= 632
    assert seconds_from(gaps["late"]["from_time"], NOW - 15 * MINUTE) <= 16
    assert seconds_from(gaps["late"]["to_time"], NOW - 5 * MINUTE) <= 16
    assert seconds_from(gaps["stopped"]["from_time"], STOPPED) <= 16
    assert gaps["stopped"]["to_time"] is None
    assert 1800 <= float(gaps["stopped"]["silent_seconds"]) <= 1816


def test_what_is_broken_now_says_how_old_it_is(ask):
    for name in ("broken-now", "broken-groups"):
        rows = ask(name)
        (stopped,) = of(rows, cluster="stopped")
        (owned_twice,) = of(rows, consumer_group="order-service", finding="DUPLICATED")

        assert (stopped["finding"], stopped["is_stale"]) == ("ORPHANED", True)
        assert seconds_from(stopped["as_of_time"], STOPPED) <= 2
        assert seconds_from(owned_twice["as_of_time"], NOW) <= 2
    assert {(row["cluster"], row["is_stale"]) for row in ask("open-alerts")} >= {("stopped", True)}


def test_a_retry_queue_in_which_nothing_waits_is_not_broken(ask):
    broken, harm = ask("broken-now"), ask("harm-last-week")

    assert {row["topic"] for row in broken if row["topic"].startswith("%RETRY%")} == {"%RETRY%retries"}
    assert of(harm, consumer_group="idle-retries") == []
    assert len(of(harm, consumer_group="retries")) == 1


def test_harm_counts_each_minute_once_and_only_while_it_was_seen(ask):
    told = [fact for fact in scenes.orphaned(STOPPED) if isinstance(fact.payload, QueueFact)]
    seen_ms = STOPPED - min(fact.ts for fact in told if fact.payload.finding == "ORPHANED")
    (orphaned,) = of(ask("harm-last-week"), cluster="stopped")
    (twice,) = of(ask("harm-last-week"), consumer_group="order-service", finding="DUPLICATED")

    assert 4.5 <= seen_ms / MINUTE <= 5
    assert abs(float(orphaned["queue_minutes"]) - seen_ms / MINUTE) <= 0.1
    assert (orphaned["queues"], twice["queues"]) == (1, 1)
    assert 9.5 <= float(twice["queue_minutes"]) <= 10.1


def test_a_queue_s_history_has_no_moment_twice(ask):
    history = ask("queue-history")

    assert [row["to_time"] for row in history[:-1]] == [row["from_time"] for row in history[1:]]
    assert history[-1]["to_time"] is None
    assert [row["actual_owners"] for row in history if row["finding"] == "DUPLICATED"] == [["x", "y"], ["x", "y", "z"]]


@pytest.mark.parametrize(("minutes_ago", "owners"), [(12, ["x"]), (7, ["x", "y"]), (2, ["x", "y", "z"]), (-5, None)])
def test_one_row_tells_who_owned_a_queue_at_a_time(ask, monkeypatch, minutes_ago, owners):
    when = datetime.fromtimestamp((NOW - minutes_ago * MINUTE) / SECOND, UTC)
    query = QUERIES["owner-at"].replace("2026-03-01 12:00:00", f"{when:%Y-%m-%d %H:%M:%S}")
    monkeypatch.setitem(QUERIES, "owner-at", query.replace("2026-03-01", f"{when:%Y-%m-%d}"))

    assert [row["actual_owners"] for row in ask("owner-at")] == ([] if owners is None else [owners])


def test_a_group_that_is_seen_for_the_first_time_has_neither_rebalanced_nor_changed(ask):
    assert {row["consumer_group"] for row in ask("rebalance-cost")} & {"first-seen", "joined"} == {"joined"}
    assert of(ask("noisiest"), consumer_group="first-seen") == []
    (joined,) = of(ask("noisiest"), consumer_group="joined")
    assert joined["membership_changes"] == 2  # one at each broker
    (trigger,) = of(ask("rebalance-triggers"), consumer_group="joined")
    assert (trigger["client_id"], trigger["times_joined"], trigger["times_left"]) == ("z", 1, 0)


def test_owners_that_nobody_told_are_not_known_rather_than_nobody(written):
    rows = written.read("queue_assignments").where("cluster IN ('prod', 'stopped')").collect()
    by_group = {(row.consumer_group, row.finding): row.actual_owners for row in rows}

    assert by_group["silent-clients", "UNKNOWN"] is None
    assert by_group["orphaned", "ORPHANED"] == []
    alerts = written.read("alerts").where("consumer_group = 'orphaned' AND kind = 'ORPHANED'").collect()
    assert {tuple(queue.actual_owners) for alert in alerts for queue in alert.queues} == {()}
    ended = written.read("queue_findings").where("finding = 'UNKNOWN' AND size(actual_owners) = 0")
    assert ended.count() == 0


def test_versions_are_those_that_people_know(ask):
    versions = {(row["language"], row["version"]): row["clients"] for row in ask("versions") if row["language"]}

    assert versions == {("JAVA", "V4_9_7"): 2, ("GO", "V4_5_2"): 1}
