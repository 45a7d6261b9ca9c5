"""What a collector exposes: a fake cluster asked by the whole command, read over HTTP; and limits, as values."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.collector.exposed import MISSED_ROUNDS, PATIENCE_MS, ClusterCounts, CollectorExposed, lag_series
from streaming.collector.probing.client_schedule import label_of
from streaming.collector.probing.lag import Lags
from streaming.collector.wire.requests import Code, Outcome, RequestCounts
from streaming.loopback.ports import free_port
from streaming.metrics.exposition import Exposed, Exposition
from testing.fake_rocketmq import FakeCluster, served, two_clients
from tests.collector.test_collect import config_file, stopped_when
from tests.collector.test_lag import row
from tests.metrics.scraping import Scrape, get, of_process, scrape


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    fake = two_clients()
    with served(fake):
        yield fake


@pytest.fixture
def port() -> int:
    return free_port()


class Asked:
    """Asks in a thread until it is content, while the command has the main one."""

    def __init__(self, port: int, is_enough: Callable[[Scrape], bool]) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.last: Scrape | None = None
        self.ready: list[tuple[int, str]] = []
        self.is_over = False
        self._is_enough = is_enough
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not self.is_over:
            try:
                self.last = scrape(self.address)
                self.ready.append(get(f"{self.address}/readyz")[:2])
                self.is_over = self._is_enough(self.last)
            except OSError:
                time.sleep(0.05)
            time.sleep(0.1)
        self.is_over = True

    @property
    def found(self) -> Scrape:
        assert self.last is not None
        return self.last


def collect(config: str, asked: Asked, port: int) -> None:
    stopped_when(lambda: asked.is_over, seconds=25)
    assert main(["collect", "--config", config, "--metrics", f"127.0.0.1:{port}"]) == 0


@pytest.mark.slow("time-outs pass")
def test_a_collector_tells_what_it_asks_and_what_comes_of_it(cluster: FakeCluster, tmp_path: Path, port: int) -> None:
    count = "evenkeel_collector_round_duration_seconds_count"
    asked = Asked(port, lambda found: bool(found.of("evenkeel_rocketmq_lag_messages")) and found.one(count) >= 2)
    collect(config_file(tmp_path, cluster, "offsets_seconds = 5\nidle_offsets_seconds = 5\n"), asked, port)
    found = asked.found
    assert found.names <= of_process("collect")
    name = "evenkeel_collector_requests_total"
    assert found.one(name, request="GET_CONSUMER_CONNECTION_LIST", outcome="answered", cluster="prod") >= 4
    assert found.one(name, request="GET_BROKER_CLUSTER_INFO", outcome="unreachable") >= 1  # 127.0.0.1:1
    seconds = "evenkeel_collector_request_duration_seconds_count"
    assert found.one(seconds, request="GET_CONSUMER_CONNECTION_LIST") == found.one(
        name, request="GET_CONSUMER_CONNECTION_LIST", outcome="answered"
    )
    assert found.one("evenkeel_collector_round_interval_seconds", cluster="prod") == 1
    assert time.time() - found.one("evenkeel_collector_last_round_timestamp_seconds") < 20
    assert found.one("evenkeel_collector_groups", state="watched") == 1
    assert found.one("evenkeel_left_out", of="topics") == 0
    assert found["evenkeel_ready"] == 1
    assert asked.ready[-1] == (200, "ok\n")


def test_a_collector_that_no_broker_answers_is_not_ready(cluster: FakeCluster, tmp_path: Path, port: int) -> None:
    for node in cluster.nodes.values():
        node.manner = "garbage"
    asked = Asked(port, lambda found: found.one("evenkeel_collector_silent", cluster="prod") > 0)
    collect(config_file(tmp_path, cluster), asked, port)
    assert asked.found.one("evenkeel_collector_requests_total", request="GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
                           outcome="unreachable") > 0  # fmt: skip
    assert (503, "cluster prod: no broker answers\n") in asked.ready


def counts(cluster: str = "prod", interval_ms: int = 5000) -> ClusterCounts:
    return ClusterCounts(cluster, interval_ms, RequestCounts(), Lags())


def text(*clusters: ClusterCounts, limit: int = 100) -> Scrape:
    exposed = Exposed("collect", [lambda: lag_series(clusters, limit)], list)
    return Scrape(Exposition(exposed).text().decode())


def test_the_largest_lag_comes_first_and_the_total_has_all() -> None:
    one, other = counts("a"), counts("b")
    for number in range(10):
        one.lags.answered(f"g{number}", "broker", [row(0, 100 + number, 100), row(0, 7, 7, topic="U")])
    other.lags.answered("h", "broker", [row(0, 50, 0, 1_700_000_000_000)])
    found = text(one, other, limit=4)
    lags = {
        dict(labels)["consumer_group"]: value for labels, value in found.of("evenkeel_rocketmq_lag_messages").items()
    }
    assert lags == {"h": 50, "g9": 9, "g8": 8}
    assert found.one("evenkeel_rocketmq_lag_timestamp_seconds", consumer_group="h", topic="T") == 1_700_000_000
    assert found.one("evenkeel_left_out", of="topics") == 18
    assert found.one("evenkeel_rocketmq_cluster_lag_messages", cluster="a") == 45
    assert found.one("evenkeel_rocketmq_cluster_lag_messages", cluster="b") == 50


def test_a_collector_that_waits_shows_no_lag() -> None:
    """What it knew is older than what the one that asks shows."""
    one, waits = counts("a"), counts("b")
    waits.leads = False
    exposed = CollectorExposed(lambda: [one, waits], 100, None, lambda: 0)
    found = Scrape(Exposition(Exposed("collect", [exposed.series], list)).text().decode())
    lags = found.of("evenkeel_rocketmq_cluster_lag_messages")
    assert [dict(labels)["cluster"] for labels in lags] == ["a"]


def test_rounds_that_do_not_end_are_told() -> None:
    one, now = counts(), [1_000_000]
    exposed = CollectorExposed(lambda: [one], 100, None, lambda: now[0])
    assert exposed.troubles() == ["cluster prod: no round has ended yet"]
    one.round_ts = now[0]
    now[0] += MISSED_ROUNDS * one.interval_ms + PATIENCE_MS
    assert exposed.troubles() == []
    now[0] += 1
    assert exposed.troubles() == ["cluster prod: no round has ended for 25 s"]


def test_only_answers_have_durations() -> None:
    requests = RequestCounts()
    for outcome in Outcome:
        requests.add(Code.GET_CONSUME_STATS, outcome, 0.2)
    assert {outcome: number for _, outcome, number in requests.counts()} == dict.fromkeys(Outcome, 1)
    ((code, durations),) = requests.durations()
    counted = [sample.value for one in durations.collect() for sample in one.samples if sample.name.endswith("_count")]
    assert (code, counted) == (Code.GET_CONSUME_STATS, [2])


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("backing off after no answer within 10 s", "backing_off"),
        ("a gRPC client: its proxy answers for it", "grpc_client"),
        ("broker-a: code 1: broken", "broker_failed"),
        ("no broker that answers lists it", "no_broker"),
    ],
)
def test_reasons_are_counted_by_a_word(why: str, reason: str) -> None:
    assert label_of(why) == reason
