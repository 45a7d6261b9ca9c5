"""Messages in flight by the brokers' own pages of metrics, and how far brokers are in their revive logs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from schemas.events import Round, TopicInFlight, TopicRoute, decode_event, encode_event
from schemas.identity import REVIVE_GROUP, retry_topic
from streaming.collector.exposed import ClusterCounts, lag_series
from streaming.collector.probing import cluster_probe
from streaming.collector.probing.broker_metrics import OLDEST_PAGE_MS, PAGE_MS, BrokerMetrics
from streaming.collector.probing.lag import TopicLag
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.collector.translation.rounds import in_parts
from streaming.collector.wire import metrics_page
from streaming.collector.wire.answers import InFlightAnswer
from streaming.collector.wire.connection import NotAllowed, Unreachable
from streaming.collector.wire.metrics_page import InFlight, MetricsPages
from streaming.collector.wire.requests import RequestCounts
from streaming.inspect.inspection import look_policy
from streaming.metrics import catalogue as m
from streaming.replay.recording import RecordingTranslation
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, FakeNode
from tests.collector.test_cluster_probe import QUICK, Told, play

GRPC = "host-1@4711@0@hoi3xrg9u3"
EACH_ROUND = replace(QUICK, offsets_ms=1, idle_offsets_ms=1)
RECORDED = (Path(__file__).parent / "captures" / "broker_metrics.txt").read_bytes()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n"


@asynccontextmanager
async def serving(answer: bytes, delay_s: float = 0) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server of one answer: its port, and what it was asked."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            await asyncio.sleep(delay_s)
            writer.write(answer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()
        await asyncio.sleep(0.01)  # connections close at the loop's next turns


def read(answer: bytes, broker: str = "broker-a", timeout_s: float = 5, delay_s: float = 0) -> InFlight:
    async def run() -> InFlight:
        async with serving(answer, delay_s) as (port, asked):
            found = await MetricsPages(port, timeout_s, (), lambda: True).in_flight(broker, "127.0.0.1:10911")
            assert len(asked) == 1
            assert asked[0].startswith(b"GET /metrics HTTP/1.0\r\n")
            return found

    return asyncio.run(run())


# --- a page


def test_a_recorded_page_has_the_messages_in_flight_of_groups_that_pop_and_of_no_others() -> None:
    """Messages that are given out again have a number of their own. `behind` pulls through a proxy, as `split` does."""
    assert read(ANSWER + RECORDED) == {("noack", "Tnoack"): 354, ("fifo", "Tfifo"): 2, ("push", "Tpush"): 0}


def test_a_page_of_another_broker_says_nothing() -> None:
    assert read(ANSWER + RECORDED, broker="broker-b") == {}


def test_a_page_in_many_pieces_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_page, "PIECE_BYTES", 700)
    assert read(ANSWER + RECORDED)["noack", "Tnoack"] == 354


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found"),
        (b"what?\r\n\r\n", "what?"),
        (b"no end", "not HTTP"),
        (b"x" * 200_000, "not HTTP"),
        (ANSWER + b'rocketmq_consumer_inflight_messages{node_id="broker-a"} 1\n', "cannot be read"),
        (ANSWER + RECORDED.replace(b"} 54.0", b"} NaN"), "cannot be read"),
        (ANSWER + b"y" * 2_000_000, "lines that are too long"),
    ],
)
def test_what_is_no_such_page_is_told(answer: bytes, why: str) -> None:
    with pytest.raises(Unreachable, match=why):
        read(answer)


def test_a_page_that_is_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_page, "MOST_BYTES", 5_000)
    with pytest.raises(Unreachable, match="longer than"):
        read(ANSWER + RECORDED)


def test_a_page_that_does_not_come_is_given_up() -> None:
    with pytest.raises(Unreachable, match=r"no page within 0\.2 s"):
        read(ANSWER, timeout_s=0.2, delay_s=0.3)


def test_nothing_listens_or_nothing_may_be_asked() -> None:
    async def run() -> None:
        async with serving(ANSWER) as (port, asked):
            with pytest.raises(NotAllowed):
                await MetricsPages(port, 5, (ip_network("10.0.0.0/8"),), lambda: True).in_flight("a", "127.0.0.1:1")
            with pytest.raises(asyncio.CancelledError):
                await MetricsPages(port, 5, (), lambda: False).in_flight("a", "127.0.0.1:1")
            assert not asked
        with pytest.raises(Unreachable, match="no page"):
            await MetricsPages(port, 5, (), lambda: True).in_flight("a", "127.0.0.1:1")

    asyncio.run(run())


# --- when pages are read


def test_each_page_is_read_every_30_s_and_a_slow_one_less_and_less_often() -> None:
    metrics = BrokerMetrics("prod", replace(DEFAULT_POLICY, spreads=False))
    asked: dict[str, list[int]] = {"a": [], "b": []}
    for now in range(0, 300_000, 5_000):
        for broker in metrics.due(("a", "b"), now):
            asked[broker].append(now)
            metrics.answered(broker, now, now, 1_500 if broker == "b" else 20, {})
    assert asked["a"] == list(range(0, 300_000, PAGE_MS))
    assert asked["b"] == [0, 35_000, 100_000, 225_000]


def test_a_page_that_is_gone_says_nothing_any_more() -> None:
    metrics = BrokerMetrics("prod", replace(DEFAULT_POLICY, spreads=False))
    metrics.due(("a",), 0)
    metrics.answered("a", 1, 1, 20, {("g", "T"): 3})
    (one,) = metrics.in_flight("a", "g", 100)
    assert (one.topic, one.messages) == ("T", 3)
    assert metrics.in_flight("a", "other", 100) == ()
    metrics.answered("a", 2, 2, 20, None)
    assert metrics.in_flight("a", "g", 100) == ()
    metrics.answered("a", 3, 3, 20, {("g", "T"): 3})
    assert metrics.due((), 4) == []
    assert metrics.in_flight("a", "g", 100) == ()


def test_a_page_that_is_old_because_its_broker_rests_says_nothing_any_more() -> None:
    metrics = BrokerMetrics("prod", replace(DEFAULT_POLICY, spreads=False))
    metrics.due(("a",), 0)
    metrics.answered("a", 1_000_000, 0, 1_500, {("g", "T"): 3})
    assert metrics.in_flight("a", "g", OLDEST_PAGE_MS)
    assert metrics.in_flight("a", "g", OLDEST_PAGE_MS + 1) == ()


# --- what rounds say of it


class Pages(MetricsPages):
    """Pages of brokers: the numbers in flight, by broker."""

    def __init__(self, **in_flight: InFlight) -> None:
        self.pages = {name.replace("_", "-"): page for name, page in in_flight.items()}
        self.read: list[str] = []

    async def in_flight(self, broker: str, address: str) -> InFlight:
        self.read.append(broker)
        if broker not in self.pages:
            raise Unreachable("no page")
        return self.pages[broker]


def grpc() -> FakeCluster:
    fake = FakeCluster(groups={"g": FakeGroup(), "old": FakeGroup([FakeClient("c1")])}, number_of_proxies=1)
    fake.groups["g"].subscription_table = ("T",)
    return fake


async def told_of(told: Told, pages: Pages, rounds: int = 3) -> list[Round]:
    """The markers of g, which has a gRPC client at a proxy, and of the others."""
    told.probe._pages = pages
    (proxy,) = told.fake.proxies
    told.fake.groups["g"].at_proxies = {proxy.name: [FakeClient(GRPC)]}
    markers: list[Round] = []
    for _ in range(rounds):
        await told.round()
        markers += told.of(Round)
    return markers


def test_a_round_says_how_many_messages_are_in_flight_once_for_each_page() -> None:
    async def scene(told: Told) -> None:
        pages = Pages(broker_a={("g", "T"): 5, ("old", "T"): 7}, broker_b={("g", "T"): 2})
        markers = await told_of(told, pages, 4)
        found = [one for marker in markers if marker.group == "g" for one in marker.in_flight]
        assert sorted((one.broker_name, one.topic, one.messages) for one in found) == [
            ("broker-a", "T", 5), ("broker-b", "T", 2),
        ]  # fmt: skip
        assert not any(marker.in_flight for marker in markers if marker.group != "g")
        assert sorted(pages.read) == ["broker-a", "broker-b"]
        lags = {(group, topic): lag for group, topic, lag in told.probe.shared.lags.by_topic()}
        assert lags["g", "T"] == TopicLag(0, None, 7)
        assert lags["old", "T"].in_flight is None
        counts = ClusterCounts("prod", 5_000, RequestCounts(), told.probe.shared.lags)
        series = [one for one in lag_series([counts], 100) if one.metric is m.IN_FLIGHT]
        assert [(one.labels, one.value) for one in series] == [(("prod", "g", "T"), 7)]
        replayed = RecordingTranslation(source="collector 1", confirms=False)
        again = [event for line in told.lines for event in replayed.feed(line) if isinstance(event, Round)]
        assert [one for marker in again for one in marker.in_flight] == found
        assert sum(isinstance(line, InFlightAnswer) for line in told.lines) == 2

    play(scene, grpc(), EACH_ROUND)


def test_in_flight_is_not_known_where_one_broker_has_no_page() -> None:
    async def scene(told: Told) -> None:
        await told_of(told, Pages(broker_a={("g", "T"): 5}), 4)
        lags = {(group, topic): lag for group, topic, lag in told.probe.shared.lags.by_topic()}
        assert lags["g", "T"].in_flight is None
        assert "broker-b for its metrics" in told.probe.silent.why

    play(scene, grpc(), EACH_ROUND)


def test_in_flight_is_not_known_of_a_broker_that_counts_it_by_the_offsets_of_pulls() -> None:
    """With popConsumerKVServiceEnable. These show what was popped last."""

    async def scene(told: Told) -> None:
        told.fake.offsets = {("T", "broker-a", 0): (10, 5, 8)}
        markers = await told_of(told, Pages(broker_a={("g", "T"): 3}, broker_b={("g", "T"): 2}), 4)
        lags = {(group, topic): lag for group, topic, lag in told.probe.shared.lags.by_topic()}
        assert lags["g", "T"].in_flight is None
        assert {one.broker_name for marker in markers for one in marker.in_flight} == {"broker-b"}

    play(scene, grpc(), EACH_ROUND)


def test_numbers_in_flight_are_spread_over_the_parts_of_a_long_round() -> None:
    numbers = tuple(TopicInFlight("broker-a", f"T{n}" + "x" * 400, 1_000, n) for n in range(900))
    marker = Round(schema=1, cluster="c", group="g", ts=1_000, round=1, seq=0, brokers=(), in_flight=numbers)
    parts = in_parts(marker, lambda: {"seq": 1})
    assert len(parts) > 1
    assert tuple(one for part in parts for one in part.in_flight) == numbers
    assert decode_event(encode_event(parts[0])) == parts[0]


# --- revive logs

LOG = "rmq_sys_REVIVE_LOG_DefaultCluster"


def with_log(**more: object) -> FakeCluster:
    fake = FakeCluster(queues={"T": 4, LOG: 8}, revive_log=LOG, offsets={(LOG, "broker-a", 0): (40, 30, 30)})
    fake.groups = {"g": FakeGroup([FakeClient("c1")])}
    for name, value in more.items():
        setattr(fake, name, value)
    return fake


async def revivals(told: Told, rounds: int = 3) -> list[Round]:
    markers: list[Round] = []
    routes: set[str] = set()
    for _ in range(rounds):
        await told.round()
        markers += [one for one in told.of(Round) if one.group == REVIVE_GROUP]
        routes |= {one.topic for one in told.of(TopicRoute) if one.group == REVIVE_GROUP and one.brokers}
    assert routes - {retry_topic(REVIVE_GROUP)} == ({LOG} if markers else set())
    return markers


def test_brokers_are_asked_how_far_they_are_in_their_revive_logs_where_groups_pop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(told: Told) -> None:
        markers = await revivals(told)
        assert len(markers) == 3
        assert all(answer.answered and not answer.client_ids for answer in markers[0].brokers)
        rows = [row for one in told.events if one.group == REVIVE_GROUP for row in getattr(one, "queues", ())]
        assert {(row.broker_offset, row.consumer_offset) for row in rows} == {(0, 0), (40, 30)}
        assert not any(group == REVIVE_GROUP for group, _, _ in told.probe.shared.lags.by_topic())  # no messages

    monkeypatch.setattr(cluster_probe, "REVIVALS_MS", 2)
    play(scene, with_log(popping={"T": ["g"]}), EACH_ROUND)


def test_they_are_asked_every_20_s() -> None:
    async def scene(told: Told) -> None:
        assert len(await revivals(told)) == 1
        asked = [one for one in told.fake.asked_about if one.subject == REVIVE_GROUP]
        assert sorted((one.broker, one.code) for one in asked) == [
            (broker, code) for broker in ("broker-a", "broker-b") for code in (38, 203, 208)
        ]

    play(scene, with_log(number_of_proxies=1), EACH_ROUND)


@pytest.mark.parametrize(
    ("fake", "policy"),
    [
        (with_log(), EACH_ROUND),
        (with_log(popping={"T": ["g"]}), replace(EACH_ROUND, exclude=("CID_RMQ_SYS_*",))),
        (with_log(popping={"T": ["g"]}), replace(EACH_ROUND, include=("g*",))),
        (with_log(popping={"T": ["g"]}), replace(EACH_ROUND, offsets_ms=0)),
        (with_log(popping={"T": ["g"]}), look_policy(EACH_ROUND, ())),
    ],
)
def test_nothing_is_asked_without_pop_in_a_look_or_if_the_group_is_not_chosen(
    fake: FakeCluster, policy: object
) -> None:
    async def scene(told: Told) -> None:
        assert await revivals(told) == []
        assert not [one for one in told.fake.asked_about if one.subject == REVIVE_GROUP]

    play(scene, fake, policy)  # type: ignore[arg-type]


def test_grpc_clients_at_brokers_are_reason_enough() -> None:
    async def scene(told: Told) -> None:
        assert len(await revivals(told)) == 1

    play(scene, with_log(groups={"g": FakeGroup([FakeClient(GRPC)])}), EACH_ROUND)


class Refusing(FakeCluster):
    """Its ACL does not permit the group of revive logs."""

    def _38(self, node: FakeNode, fields: dict[str, str]) -> tuple[int, bytes]:
        return (16, b"") if fields["consumerGroup"] == REVIVE_GROUP else super()._38(node, fields)

    def _203(self, node: FakeNode, fields: dict[str, str]) -> tuple[int, bytes]:
        return (16, b"") if fields["consumerGroup"] == REVIVE_GROUP else super()._203(node, fields)


def test_a_broker_that_refuses_this_group_alone_is_not_silent() -> None:
    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
        assert sorted(told.probe.silent.why) == ["broker-a for its revive log", "broker-b for its revive log"]
        assert told.probe.directory.has_broker

    fake = Refusing(queues={"T": 4, LOG: 8}, revive_log=LOG, popping={"T": ["g"]})
    fake.groups = {"g": FakeGroup([FakeClient("c1")])}
    play(scene, fake, EACH_ROUND)
