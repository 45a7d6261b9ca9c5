"""Groups that are gone leave the pages, the metrics and the memory of the process that serves them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from schemas.facts import Fact, HealthFact
from streaming.cli.run import METRICS_KEEP_RESOLVED_MS
from streaming.core.retention import FORGET_AFTER_MS
from streaming.metrics.exposition import Exposed, Exposition
from streaming.projections.projector import run_projections
from streaming.wall_clock import now_ms
from streaming.web.live.first_read import first_facts
from streaming.web.live.watch import Watch
from streaming.web.views.group_series import group_series
from streaming.web.views.known import MOST_RESOLVED, Known
from testing.written import commit
from tests.metrics.scraping import Scrape
from tests.web.test_group_series import NOW, group, health, rebalance
from tests.web.test_overview import alert

DAY = 86_400_000
LATER = NOW + FORGET_AFTER_MS + 1


def at(ts: int, fact: Fact) -> Fact:
    return replace(fact, ts=ts)


def seen(ts: int, cluster: str = "prod") -> Fact:
    return at(ts, health(cluster, lag_ms=0))


def scraped(known: Known) -> Scrape:
    return Scrape(Exposition(Exposed("web", [lambda: group_series(known, 1000)], list)).text().decode())


def left(*facts: Fact, now: int = LATER) -> set[str]:
    known = Known()
    known.take([group("g"), *facts])
    known.forget(now, FORGET_AFTER_MS)
    return {name for _, name in known.groups}


def test_a_group_without_a_status_for_a_week_in_which_its_cluster_was_seen_is_gone() -> None:
    assert left(seen(LATER)) == set()
    assert left(seen(LATER - 1)) == {"g"}


def test_a_group_of_a_cluster_that_was_not_seen_stays() -> None:
    assert left() == {"g"}
    assert left(seen(NOW)) == {"g"}
    assert left(seen(LATER, "other")) == {"g"}


def test_a_collector_whose_clock_is_ahead_hides_no_group() -> None:
    assert left(seen(LATER), now=NOW + DAY) == {"g"}


def test_a_group_with_an_open_alert_stays() -> None:
    firing = replace(alert("g", "firing", "critical", 1), cluster="prod")
    assert left(seen(LATER), firing) == {"g"}
    ended = replace(alert("g", "resolved", "critical", 1), cluster="prod")
    assert left(seen(LATER), ended) == set()


def test_alerts_that_ended_are_kept_for_a_day_and_of_many_the_newest() -> None:
    known = Known()
    known.take(
        [at(NOW - DAY, alert("open", "firing", "critical", 1)), at(NOW - DAY, alert("old", "resolved", "none", 1))]
    )
    known.take(at(NOW - number, alert(f"g{number}", "resolved", "none", 0)) for number in range(MOST_RESOLVED))
    known.forget(NOW - 1, FORGET_AFTER_MS)
    assert len(known.alerts) == MOST_RESOLVED + 1
    assert known.alerts["open-ORPHANED"].is_open
    known.take([at(NOW + 1, alert("new", "resolved", "none", 0))])
    known.forget(NOW + 1, FORGET_AFTER_MS)
    assert len(known.alerts) == MOST_RESOLVED + 1
    assert known.alerts.keys() >= {"new-ORPHANED", "open-ORPHANED", f"g{MOST_RESOLVED - 2}-ORPHANED"}


def test_metrics_need_alerts_that_ended_for_ten_minutes_only() -> None:
    known, ages_ms = Known(), {"new": 599_999, "old": 600_000}
    known.take(at(NOW - age_ms, alert(name, "resolved", "none", 1)) for name, age_ms in ages_ms.items())
    firing = replace(at(NOW - DAY, alert("open", "firing", "critical", 1)), cluster="prod")
    known.take([group("open"), firing])
    before = list(group_series(known, 1000))
    assert "evenkeel_alerts" in {one.metric.name for one in before}
    known.forget(NOW, FORGET_AFTER_MS, METRICS_KEEP_RESOLVED_MS)
    assert known.alerts.keys() == {"open-ORPHANED", "new-ORPHANED"}
    assert list(group_series(known, 1000)) == before


def test_the_scrape_loses_the_series_of_a_group_that_is_gone_and_no_counter_goes_back() -> None:
    known = Known()
    known.take([group("gone"), rebalance("gone", 2), group("stays"), rebalance("stays", 2)])
    before = scraped(known)
    known.take([at(LATER, group("stays", seq=3)), seen(LATER)])
    assert known.forget(LATER, FORGET_AFTER_MS) == {("prod", "gone")}
    after = scraped(known)
    of_groups = [name for name in before.names if before.of(name, consumer_group="gone")]
    assert len(of_groups) == 7
    for name in of_groups:
        assert not after.of(name, consumer_group="gone"), name
        assert after.of(name, consumer_group="stays"), name
    assert after.one("evenkeel_groups", status="healthy", cluster="prod") == 1
    assert after.one("evenkeel_rebalances_total", cluster="prod") == 2


@pytest.mark.slow("facts of a day are read, or a browser is started")
def test_100_000_names_that_come_and_go_leave_bounded_memory() -> None:
    known, each = Known(), 5_000
    for day in range(20):
        ts = NOW + day * DAY
        known.take(at(ts, group(f"test-{day}-{number}")) for number in range(each))
        known.take(at(ts, rebalance(f"test-{day}-{number}", 2)) for number in range(each))
        known.take([seen(ts)])
        known.forget(ts, FORGET_AFTER_MS)
        assert len(known.groups) <= 8 * each  # of the last 7 days, and of this one
    assert len(known.rebalances) == 8 * each + 1
    assert sum(known.rebalances.values()) == 20 * each


@pytest.mark.slow("a page of a day")
def test_a_process_that_follows_the_facts_forgets_names(tmp_path: Path) -> None:
    watch, days, each = Watch(str(tmp_path)), 10, 2
    begin, names = now_ms() - (days - 1) * DAY, []
    commit(tmp_path / "facts", [seen(begin - 1)])
    watch.read()
    for day in range(days):
        today = [f"test-{day}-{number}" for number in range(each)]
        commit(tmp_path / "facts", [at(begin + day * DAY, one) for one in (*map(group, today), seen(NOW))])
        watch.read()
        names += today
    kept = names[-8 * each :]
    assert list(watch.known.groups) == [("prod", name) for name in kept]
    assert [name for name in names if watch.changes.number(("prod", name))] == kept


@pytest.mark.slow("a page of a day")
def test_groups_that_are_gone_are_not_read_at_the_start(tmp_path: Path) -> None:
    told = [group("gone"), group("stays"), at(LATER, group("new", seq=2)), group("of-another", cluster="other")]
    commit(tmp_path / "facts", [*told, at(NOW + 2, group("stays", seq=2)), seen(LATER)])
    run_projections(str(tmp_path))
    facts = [fact for fact in first_facts(str(tmp_path)) if not isinstance(fact.payload, HealthFact)]
    assert {fact.group for fact in facts} == {"stays", "new", "of-another"}
