"""What Prometheus is told of groups: from facts as values, and from tables over the pages' own address."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from schemas.facts import AlertFact, Fact, GroupFact, HealthFact, RebalanceFact
from streaming.config.sections import Web
from streaming.metrics.exposition import Exposed, Exposition
from streaming.metrics.series import MOST_CLUSTERS
from streaming.notices.notice import Site
from streaming.web.app import web_app
from streaming.web.live.exposed import STALE_AFTER_S, facts_troubles
from streaming.web.live.watch import Watch
from streaming.web.security.access import AccessRules
from streaming.web.security.users import new_token, read_users
from streaming.web.settings import WebSettings
from streaming.web.views.group_series import group_series
from streaming.web.views.known import Known
from testing.written import commit
from tests.metrics.scraping import Scrape, of_process
from tests.web.asking import ask
from tests.web.made_tables import facts_named, make_tables

S = 1000
NOW = 1_700_000_000 * S


def group(name: str, status: str = "healthy", seq: int = 1, cluster: str = "prod", **counts: int) -> Fact:
    payload = GroupFact(
        status=status, members=3, queues=8, counts=counts or {"MATCH": 8}, brokers_covered=1, brokers_known=2,
        members_reporting=2,
    )  # fmt: skip
    return Fact(seq, cluster, name, None, NOW, payload)


def rebalance(name: str, seq: int) -> Fact:
    payload = RebalanceFact(
        trigger="join", joined=("c",), left=(), topics=("T",), from_ts=NOW, to_ts=NOW + S, converged=True,
        queues_moved=1, fewest_moves=1, duplicated_ms=0, orphaned_ms=0,
    )  # fmt: skip
    return Fact(seq, "prod", name, None, NOW, payload)


def health(cluster: str, lag_ms: int | None = 2000) -> Fact:
    payload = HealthFact(
        status="ok", batch_id=1, groups=1, rounds=1, events=1, quarantined=0, brokers_unanswered=0, lag_ms=lag_ms,
        events_per_s=1, batch_ms=1, state_bytes=1,
    )  # fmt: skip
    return Fact(NOW, cluster, "", None, NOW, payload)


def scraped(facts: Iterable[Fact], limit: int = 1000) -> Scrape:
    known = Known()
    known.take(facts)
    exposition = Exposition(Exposed("web", [lambda: group_series(known, limit)], list))
    return Scrape(exposition.text().decode())


def alerts_of(name: str) -> list[Fact]:
    return [fact for fact in facts_named("same_client_id", name, 150.0) if isinstance(fact.payload, AlertFact)]


def test_a_group_and_its_coverage() -> None:
    found = scraped([group("orders", "findings", MATCH=6, ORPHANED=2)])
    names = {"cluster": "prod", "consumer_group": "orders"}
    assert found.one("evenkeel_group_status", status="findings", **names) == 1
    assert found.one("evenkeel_group_queues", finding="ORPHANED", **names) == 2
    assert found.one("evenkeel_group_members", **names) == 3
    assert found.one("evenkeel_group_members_reporting", **names) == 2
    assert found.one("evenkeel_group_brokers", **names) == 2
    assert found.one("evenkeel_group_brokers_covered", **names) == 1


def test_a_groups_lag_has_the_time_when_it_was_read() -> None:
    known = group("orders")
    assert isinstance(known.payload, GroupFact)
    waits = replace(known.payload, waiting=1200, read_ts=NOW - 40 * S)
    found = scraped([group("no-offsets"), replace(known, payload=waits)])
    names = {"cluster": "prod", "consumer_group": "orders"}
    assert found.one("evenkeel_group_lag_messages", **names) == 1200
    assert found.one("evenkeel_group_lag_read_timestamp_seconds", **names) == NOW / S - 40
    assert found.of("evenkeel_group_lag_messages", consumer_group="no-offsets") == {}
    assert found.of("evenkeel_group_lag_read_timestamp_seconds", consumer_group="no-offsets") == {}


def test_every_status_has_a_total_also_of_no_group() -> None:
    found = scraped([group("a"), group("b", "unknown"), group("c", "unknown")])
    totals = {dict(labels)["status"]: value for labels, value in found.of("evenkeel_groups").items()}
    assert totals == {"healthy": 1, "findings": 0, "settling": 0, "unknown": 2, "excluded": 0, "empty": 0}


def test_open_alerts_and_not_those_that_ended() -> None:
    facts = alerts_of("orders")
    found = scraped([group("orders", "findings"), *facts])
    assert found.one("evenkeel_alerts", kind="DUPLICATED", state="firing", severity="critical") == 1
    assert found.one("evenkeel_group_alerts", kind="DUPLICATED", consumer_group="orders") == 1
    last = facts[-1]
    assert isinstance(last.payload, AlertFact)
    ends = [
        replace(one, seq=last.seq + number, payload=replace(one.payload, state="resolved"))
        for number, one in enumerate(facts, 1)
        if isinstance(one.payload, AlertFact)
    ]
    found = scraped([group("orders"), *facts, *ends])
    assert found.of("evenkeel_alerts") == found.of("evenkeel_group_alerts") == {}


def test_rebalances_are_counted_once_each() -> None:
    found = scraped([group("a"), group("b"), rebalance("a", 2), rebalance("a", 3)])
    assert found.one("evenkeel_group_rebalances_total", consumer_group="a") == 2
    assert found.one("evenkeel_group_rebalances_total", consumer_group="b") == 0
    assert found.one("evenkeel_rebalances_total", cluster="prod") == 2


def test_health_facts_say_until_when_a_cluster_is_seen() -> None:
    found = scraped([health("prod"), health("silent", None), health("")])
    assert found.one("evenkeel_cluster_health_timestamp_seconds", cluster="prod") == NOW / S
    assert found.one("evenkeel_cluster_seen_timestamp_seconds", cluster="prod") == NOW / S - 2
    assert found.of("evenkeel_cluster_seen_timestamp_seconds", cluster="silent") == {}
    assert found.of("evenkeel_cluster_health_timestamp_seconds", cluster="") == {}


def test_the_limit_keeps_what_is_in_trouble_and_all_totals() -> None:
    facts = [group(f"g{number:03}") for number in range(100)]
    facts += [group("zz-unknown", "unknown"), group("zz-fires", "findings"), *alerts_of("zz-fires")]
    whole = scraped(facts)
    assert whole.one("evenkeel_left_out", of="groups") == 0
    found = scraped(facts, 40)
    statuses = [dict(labels)["consumer_group"] for labels in found.of("evenkeel_group_status")]
    assert {"zz-fires", "zz-unknown"} < set(statuses)
    assert found.one("evenkeel_left_out", of="groups") == 102 - len(statuses)
    assert sum(len(found.of(name)) for name in found.names if name.startswith("evenkeel_group_")) <= 40
    assert found.of("evenkeel_groups") == whole.of("evenkeel_groups")
    assert scraped(facts, 0).of("evenkeel_group_status") == {}


def test_clusters_that_somebody_made_up_are_bounded() -> None:
    found = scraped(group("g", cluster=f"c{number:04}") for number in range(MOST_CLUSTERS + 7))
    assert found.one("evenkeel_left_out", of="clusters") == 7
    assert len(found.of("evenkeel_groups", status="healthy")) == MOST_CLUSTERS


def test_the_pages_expose_what_the_tables_say(settings: WebSettings, watch: Watch) -> None:
    answer = ask(web_app(settings, watch), "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = Scrape(answer.text)
    assert found.names <= of_process("web")
    assert len(found.of("evenkeel_group_status")) == 3
    assert found.one("evenkeel_build_info", process="web") == 1
    assert found["evenkeel_ready"] == 1
    assert found.one("evenkeel_group_queues", consumer_group="orders", finding="DUPLICATED") == 3


def test_within_run_the_pages_expose_what_run_does(settings: WebSettings, watch: Watch) -> None:
    app = web_app(settings, watch, Exposed("run", [], lambda: ["the job has ended"]))
    assert Scrape(ask(app, "/metrics").text).one("evenkeel_build_info", process="run") == 1
    assert ask(app, "/readyz").text == "the job has ended\n"


def test_the_pages_limit_is_that_of_the_settings(settings: WebSettings, watch: Watch) -> None:
    found = Scrape(ask(web_app(settings._replace(series_limit=0), watch), "/metrics").text)
    assert found.one("evenkeel_left_out", of="groups") == 3


def test_the_pages_are_ready_while_the_tables_are_read(settings: WebSettings) -> None:
    one = Watch(settings.tables)
    assert ask(web_app(settings, one), "/readyz").text == "the tables have not been read yet\n"
    one.read()
    assert ask(web_app(settings, one), "/readyz").status == 200
    one.read_ts = (one.read_ts or 0) - STALE_AFTER_S * S - 1
    one.error = "the disk is gone"
    (said,) = facts_troubles(one)
    assert said.endswith("s: the disk is gone")
    assert ask(web_app(settings, one), "/readyz").status == 503
    assert ask(web_app(settings, one), "/healthz").status == 200


@pytest.mark.slow("a page of a day")
def test_rebalances_come_out_of_the_tables(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = make_tables(tmp_path_factory.mktemp("moved"), {"orders": ("rolling_deploy", None)}, is_past=False)
    one = Watch(str(folder))
    one.read()
    commit(folder / "facts", [rebalance("orders", 10**6)])
    before = one.known.rebalances.get(("prod", "orders"), 0)
    one.read()
    assert one.known.rebalances["prod", "orders"] == before + 1


def test_where_users_are_asked_for_prometheus_needs_a_token(
    settings: WebSettings, watch: Watch, tmp_path: Path
) -> None:
    token, line = new_token("prometheus", "read")
    file = tmp_path / "users"
    file.write_text(line + "\n")
    rules = AccessRules(read_users(str(file)), needs_user=True)
    app = web_app(
        WebSettings(settings.tables, settings.state, Web(listen="0.0.0.0:1"), rules, Site(), series_limit=20_000), watch
    )
    assert ask(app, "/metrics").status == ask(app, "/readyz").status == 401
    assert ask(app, "/healthz").status == 200
    assert ask(app, "/metrics", {"authorization": f"Bearer {token}"}).status == 200


def test_another_site_cannot_read_the_metrics_through_a_browser(settings: WebSettings, watch: Watch) -> None:
    assert ask(web_app(settings, watch), "/metrics", {"host": "evil.example"}).status == 421
    assert ask(web_app(settings, watch), "/healthz", {"host": "evil.example"}).status == 421
    assert ask(web_app(settings, watch), "/metrics", form={}).status == 405
