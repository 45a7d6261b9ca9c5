"""Several collectors of one cluster: one asks, another takes over, and never two ask at once."""

import asyncio
import gc
import logging
import math
import time
import zlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.cluster import ClusterMetadata
from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.base import Generation
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import (
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    MemberIdRequiredError,
    UnknownMemberIdError,
)
from kafka.protocol.consumer import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from schemas.events import ConsumeProgress
from streaming.collector import service
from streaming.collector.cluster_collector import ClusterCollector, Permission, Watched
from streaming.collector.exposed import ClusterCounts
from streaming.collector.failover import membership, reach
from streaming.collector.failover.leadership import Alone, Elected, Leadership
from streaming.collector.failover.membership import REQUEST_MS, Membership
from streaming.collector.failover.reach import Reach
from streaming.collector.failover.term import Term
from streaming.collector.failover.topic import PARTITIONS, SESSION_MS, connect, let_evictions_be_noticed, partition_of
from streaming.collector.probing.client_schedule import TAKEN_OVER, Chosen, ClientSchedule
from streaming.collector.probing.memory import Memory, MemoryFile, Remembered
from streaming.config.load import load_config
from streaming.loopback import LoopbackKafka
from testing.waiting import until
from tests.collector.test_cluster_probe import QUICK, Told, play

NOW = 1_700_000_000_000
SLOW = replace(QUICK, interval_ms=2_000, timeout_ms=2_000)
# kafka-python leaves the socket of an attempt that failed to Python's collector
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def test_a_collector_without_an_answered_heartbeat_asks_nothing() -> None:
    assert not Term(SESSION_MS, REQUEST_MS).is_valid(0)
    assert not Term(SESSION_MS, REQUEST_MS).is_valid(math.inf)


def test_asking_ends_so_early_that_each_request_is_over_before_the_session() -> None:
    term = Term(SESSION_MS, REQUEST_MS)
    term.heartbeat_answered(100.0)
    last_s = 100.0 + (SESSION_MS - REQUEST_MS) / 1000
    assert term.is_valid(last_s - 0.001)
    assert not term.is_valid(last_s)
    assert last_s + REQUEST_MS / 1000 <= 100.0 + SESSION_MS / 1000


def test_an_older_heartbeat_that_is_answered_late_changes_nothing() -> None:
    term = Term(SESSION_MS, REQUEST_MS)
    term.heartbeat_answered(100.0)
    term.heartbeat_answered(90.0)
    assert term.is_valid(105.0)
    term.end()
    assert not term.is_valid(100.0)


def test_partitions_go_by_the_name_alone() -> None:
    assert {partition_of(f"cluster-{number}") for number in range(2_000)} == set(range(PARTITIONS))
    assert partition_of("prod") == partition_of("prod")


@pytest.fixture
def own_kafka(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[LoopbackKafka]:
    caplog.set_level(logging.CRITICAL, "kafka")  # its log records keep sockets alive
    with LoopbackKafka(tmp_path / "kafka") as started:
        yield started
    gc.collect()  # here, where the warnings are expected


class Collectors(NamedTuple):
    """Where collectors agree: a topic, which is also the name of their group."""

    broker: LoopbackKafka
    topic: str

    def membership(self, clusters: Sequence[str], reach: Reach) -> Membership:
        connects = partial(connect, self.broker.bootstrap_servers, {}, self.topic)
        return Membership(clusters, connects, self.topic, reach)

    @contextmanager
    def collector(self) -> Iterator[Elected]:
        """A member of the group that asks the cluster ``prod`` as soon as it may."""
        membership = self.membership(["prod"], probed())
        membership.start()
        try:
            elected = Elected("prod", membership)
            until(elected.begin)
            yield elected
            elected.stopped()
        finally:
            membership.close()


@pytest.fixture
def collectors(
    kafka: LoopbackKafka, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> Iterator[Collectors]:
    caplog.set_level(logging.CRITICAL, "kafka")  # its log records keep sockets alive
    yield Collectors(kafka, request.node.name)
    gc.collect()  # here, where the warnings are expected


def probed() -> Reach:
    """Of a collector whose brokers answered at its start."""
    found = Reach(interval_s=1)
    found.probed("prod", True, time.monotonic())
    return found


@pytest.mark.kafka
def test_what_a_collector_remembers_reaches_the_next(collectors: Collectors) -> None:
    memory = Memory(NOW, {"g": Remembered(("T",)), "h": Remembered((), NOW - 5, {"a": [(NOW, ("T", "U"))]})})
    with collectors.collector() as first:
        assert first.load() is None
        first.save(memory)
    with collectors.collector() as second:
        assert second.load() == memory


@pytest.mark.kafka
@pytest.mark.slow("time-outs pass")
def test_a_collector_that_gets_no_answers_hands_over_to_one_that_does(
    collectors: Collectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "UNANSWERED_S", 1)

    async def answered() -> bool:
        return True

    with collectors.collector() as first:
        other = collectors.membership(["prod"], Reach(interval_s=0.5))
        other.start()
        second = Elected("prod", other)

        def is_member_that_may_probe() -> bool:
            asyncio.run(second.stand_by(answered))
            first.note(None)
            now_s = time.monotonic()
            return other._term.is_valid(now_s) and other.reach.is_probe_due("prod", now_s)

        try:
            until(is_member_that_may_probe)
            assert not other.is_to_probe("prod")  # while the first one is answered
            until(lambda: bool(first.note(-math.inf)) or other.is_to_probe("prod"))
            assert first.may_ask()  # nobody is known who gets answers
            until(lambda: bool(asyncio.run(second.stand_by(answered))) or not first.may_ask())
            assert not second.begin()  # before the first one has stopped
            first.stopped()
            until(second.begin)
            assert not first.begin()
            second.stopped()
        finally:
            other.close()


@pytest.mark.kafka
@pytest.mark.slow("time-outs pass")
def test_a_collector_that_is_not_answered_at_its_start_is_given_no_cluster_of_another(collectors: Collectors) -> None:
    """Half of all partitions would move to it, and some do: those of which nothing is said."""
    clusters = [f"cluster-{number}" for number in range(120)]
    asked = [one for one in clusters if partition_of(one) < 3 * PARTITIONS // 4]
    others = [one for one in clusters if one not in asked]
    blind, answered = Reach(interval_s=1), Reach(interval_s=1)
    for cluster in asked:
        blind.probed(cluster, False, time.monotonic())
        answered.probed(cluster, True, time.monotonic())
    for cluster in others:
        blind.probed(cluster, True, time.monotonic())  # once, which is too rare to be said
    first, second = collectors.membership(asked, answered), collectors.membership(clusters, blind)
    given: set[int] = set()
    second.on_partitions_assigned = lambda assigned: given.update(one.partition for one in assigned)  # type: ignore[method-assign]
    first.start()
    try:
        until(lambda: all(map(first.may_ask, asked)))
        second.start()
        until(lambda: bool(given))
        assert given.isdisjoint(map(partition_of, asked))
        first.close()
        until(lambda: all(map(second.may_ask, asked)))  # better than nobody
    finally:
        first.close()
        second.close()


@pytest.mark.deep("a Kafka of its own is stopped")
@pytest.mark.kafka
def test_nothing_may_be_asked_while_kafka_is_away_for_long(own_kafka: LoopbackKafka) -> None:
    with Collectors(own_kafka, "collectors").collector() as one:
        assert one.may_ask()
        own_kafka.stop()
        until(lambda: not one.may_ask())
        one.stopped()
        own_kafka.start()
        until(one.begin)


def test_clients_and_offsets_wait_for_the_requests_of_the_collector_before() -> None:
    """The lists are asked for at once: they are answered within the time that a collector stops before its session."""

    async def scene(told: Told) -> None:
        told.probe.recall(None, 500)
        await told.round()
        assert told.marker().brokers[0].answered
        assert told.marker().asked == ()
        assert not told.of(ConsumeProgress)
        await asyncio.sleep(0.5)
        await told.round()
        assert set(told.marker().asked) == {"c1", "c2"}

    play(scene)


@pytest.mark.parametrize(
    ("older_ms", "slow_after_ms", "is_reported"), [(60_000, 500, True), (60_000, 0, False), (-60_000, 500, False)]
)
def test_groups_that_an_old_memory_lacks_are_reported_where_another_collector_may_have_asked_since(
    older_ms: int, slow_after_ms: int, is_reported: bool
) -> None:
    """As where collectors had another topic for a while: what they remembered then is there."""

    async def scene(told: Told) -> None:
        now = told.probe.clock.steady_ms()
        remembered = {"orders": Remembered(("T",))}
        told.probe.recall(Memory(now - QUICK.report_empty_ms - older_ms, remembered), slow_after_ms)
        assert told.probe.groups.is_look_reported(now + 1_000) is is_reported
        assert set(told.probe.groups.watched()) == {"orders"}

    play(scene)


def test_a_schedule_asks_no_client_before_it_may() -> None:
    schedule = ClientSchedule(QUICK)
    schedule.begin_at(NOW + 12_000)
    for now, chosen in (
        (NOW, Chosen((), {"c": TAKEN_OVER})),
        (NOW + 11_999, Chosen((), {"c": TAKEN_OVER})),
        (NOW + 12_000, Chosen(("c",), {})),
    ):
        schedule.know("g", ["c"], now)
        assert schedule.choose("g", now) == chosen


def test_a_round_is_given_up_when_another_collector_may_ask() -> None:
    """No marker of it says that brokers gave no answer."""
    may_ask = [True]

    async def scene(told: Told) -> None:
        await told.round()
        before = sum(told.fake.nodes["broker-a"].requests.values())
        may_ask[0] = False
        with pytest.raises(asyncio.CancelledError):
            await told.round()
        assert told.events == []
        assert sum(told.fake.nodes["broker-a"].requests.values()) == before

    play(scene, may_ask=lambda: may_ask[0])


class StubMembership:
    """Has one record and owns everything."""

    def __init__(self, record: bytes) -> None:
        self.memories = SimpleNamespace(newest=lambda _: record)


@pytest.mark.parametrize("record", [b"", b"damaged", zlib.compress(b"{")])
def test_a_damaged_memory_is_none_and_is_logged(record: bytes, caplog: pytest.LogCaptureFixture) -> None:
    assert Elected("prod", cast(Membership, StubMembership(record))).load() is None
    assert "what a collector remembered cannot be read" in caplog.text


def test_a_probe_that_may_not_ask_once_may_never_ask_again() -> None:
    """Tasks of a round that was given up may live on: they must not ask beside the next probe."""
    answers = iter([True, False, True])

    class Leader:
        def may_ask(self) -> bool:
            return next(answers)

    permission = Permission(cast(Leadership, Leader()))
    assert [permission.may_ask() for _ in range(4)] == [True, False, False, False]


def test_a_collector_that_is_alone_does_not_look_again_and_again_whether_it_may_ask(tmp_path: Path) -> None:
    class Counting(Alone):
        asked = 0

        def may_ask(self) -> bool:
            self.asked += 1
            return super().may_ask()

    async def reaches() -> bool:
        raise AssertionError("a collector that is alone probes nothing")

    async def scene(told: Told) -> None:
        told.fake.nodes["broker-a"].manner, told.fake.nodes["broker-a"].delay_s = "slow", 1
        counts = ClusterCounts("prod", QUICK.interval_ms, told.probe._client.counts, told.probe.shared.lags)
        alone, stop = Counting(MemoryFile(tmp_path, "prod")), asyncio.Event()
        one = ClusterCollector(lambda _: Watched("prod", SLOW, told.probe, counts), reaches, alone, None)
        began_s, running = time.monotonic(), asyncio.create_task(one.run(stop))
        await asyncio.sleep(2.5)
        stop.set()
        await running
        rounds = 1 + (time.monotonic() - began_s)  # at most: each lasts a second
        assert alone.asked <= 2 * rounds  # for a round, and its pause

    play(scene, policy=SLOW)


class LateHeartbeat:
    """kafka-python's consumer, of a Kafka that does not answer its heartbeat."""

    def __init__(self) -> None:
        self.consumer: Any = KafkaConsumer.__new__(KafkaConsumer)
        self.consumer._closed, self.consumer.config = False, {"max_poll_records": 500, "group_id": "collectors"}
        self.consumer._refresh_committed_offsets = lambda **_: True
        self.consumer._fetcher = self.consumer._coordinator = self
        self.turns = 0

    def poll(self, **_: object) -> bool:
        return True

    def stable(self) -> bool:
        return True

    def time_to_next_heartbeat(self) -> float:
        return 0

    time_to_next_poll = time_to_next_heartbeat

    def fetch_records(self, *_: object, timeout_ms: float, **__: object) -> tuple[dict[TopicPartition, Any], bool]:
        """A fetch is on its way, so it would wait for the answer."""
        self.turns += 1
        time.sleep(timeout_ms / 1000)
        return {}, False

    def reset_offsets_if_needed(self) -> None: ...

    maybe_validate_positions = validate_offsets_if_needed = reset_offsets_if_needed


def test_a_heartbeat_without_an_answer_lets_nothing_spin() -> None:
    """kafka-python keeps something of each turn, so a collector that was cut from Kafka became large and slow."""
    late, collectors = LateHeartbeat(), Membership(["prod"], lambda _: (None, None), "collectors", probed())
    ends_s = time.monotonic() + 1
    while time.monotonic() < ends_s:
        assert collectors._polled(late.consumer) == {}
    assert late.turns <= 10


class Answers:
    """What kafka-python's coordinator talks to: a Kafka that answers with these. It keeps what members claim."""

    def __init__(self, *responses: JoinGroupResponse) -> None:
        self._manager = self._net = self
        self.cluster, self.responses, self.claims = ClusterMetadata(), list(responses), list[set[int]]()

    async def send(self, request: Any, **_: object) -> JoinGroupResponse:
        _, metadata = request.protocols[0]
        self.claims.append({number for one in metadata.owned_partitions for number in one.partitions})
        return self.responses.pop(0)

    async def wait_for(self, task: Coroutine[Any, Any, object], _: object) -> object:
        return await task

    def call_soon(self, work: Callable[[], object]) -> object:
        return work()

    def call_soon_threadsafe(self, _: object) -> None:
        """Heartbeats, which are off while it joins."""

    def is_disconnected(self, _: object) -> bool:
        return False


def test_a_collector_that_was_evicted_while_it_joined_claims_nothing() -> None:
    collectors = Membership(["prod"], lambda _: (None, None), "collectors", probed())
    collectors._producer = SimpleNamespace(flush=lambda _: None)
    collectors._owned = frozenset({0, 1, 2})
    assignor, subscription = collectors._assignor, SubscriptionState()
    subscription.subscribe(["collectors"], listener=collectors)
    subscription.assign_from_subscribed([TopicPartition("collectors", number) for number in collectors._owned])
    assignor.on_assignment(ConsumerProtocolAssignment(1, [("collectors", [*collectors._owned])], b""), 7)
    kafka = Answers(
        JoinGroupResponse(error_code=UnknownMemberIdError.errno),
        JoinGroupResponse(error_code=MemberIdRequiredError.errno, member_id="new"),
        JoinGroupResponse(error_code=GroupAuthorizationFailedError.errno),  # the end of the test
    )
    coordinator = ConsumerCoordinator(kafka, subscription, assignors=[assignor], enable_auto_commit=False)
    coordinator.coordinator_id, coordinator._generation = "coordinator-1", Generation(7, "old", "")
    let_evictions_be_noticed(coordinator)
    with pytest.raises(GroupAuthorizationFailedError):
        asyncio.run(coordinator.join_group_async())
    assert kafka.claims == [{0, 1, 2}, set(), set()]
    assert not collectors._owned


class LosesConnection:
    """A consumer, and a producer, of a Kafka that closes every connection at once."""

    _coordinator = SimpleNamespace(stable=lambda: False)
    polls = 0

    def poll(self, timeout_ms: int) -> None:
        self.polls += 1
        raise KafkaConnectionError("socket disconnected")

    def subscribe(self, topics: list[str], listener: object) -> None: ...

    def flush(self, timeout: float) -> None: ...

    def close(self, **_: object) -> None: ...


@pytest.mark.parametrize(("keep_s", "made"), [(60, 1), (0, 2)])
def test_a_lost_connection_costs_the_membership_only_after_long(
    keep_s: float, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new member would wait for the session of the old one, which Kafka knows when it is back."""
    monkeypatch.setattr(membership, "KEEP_MEMBER_S", keep_s)
    monkeypatch.setattr(membership, "RETRY_AFTER_S", 0.1)
    consumers: list[LosesConnection] = []

    def connect_again(_: object) -> tuple[LosesConnection, LosesConnection]:
        consumers.append(LosesConnection())
        return consumers[-1], consumers[-1]

    collectors = Membership(["prod"], connect_again, "collectors", probed())
    collectors.start()
    until(lambda: sum(one.polls for one in consumers) >= 4)
    collectors.close()
    assert min(len(consumers), 2) == made


@pytest.mark.slow("time-outs pass")
def test_the_thread_goes_on_while_kafka_is_away_and_not_while_kafka_python_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(membership, "RETRY_AFTER_S", 0.01)
    steps: list[int] = []
    hangs, goes_on = Event(), Event()
    refusals: list[Exception] = [KafkaConnectionError("nobody there"), KeyError("broker")] * 3

    class Hangs(LosesConnection):
        def poll(self, timeout_ms: int) -> None:
            if len(steps) > 10:
                hangs.set()
                goes_on.wait()
            super().poll(timeout_ms)

    def connect_again(_: object) -> tuple[LosesConnection, LosesConnection]:
        if refusals:
            raise refusals.pop()
        return Hangs(), LosesConnection()

    collectors = Membership(
        ["prod"], connect_again, "collectors", probed(), went_on=lambda: steps.append(len(refusals))
    )
    collectors.start()
    assert hangs.wait(10)
    assert steps[:6] == [6, 5, 4, 3, 2, 1]
    before = len(steps)
    time.sleep(0.5)  # more than two turns
    assert len(steps) == before, "it is asked, and has no answer"
    goes_on.set()
    until(lambda: len(steps) > before)
    collectors.close()


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        ('output = "file"\nfile = "events"', ["prod"]),
        ("", ["prod", service.OUTPUT]),
        ('failover_topic = "collectors"', ["prod", service.OUTPUT, service.MEMBERSHIP]),
    ],
)
def test_the_watchdog_waits_for_each_thread_that_talks_to_kafka(
    keys: str, parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Began(Exception):
        pass

    def begin(found: Iterable[str], troubles: object) -> None:
        raise Began(*found)

    monkeypatch.setattr(service, "ServiceState", begin)
    path = tmp_path / "x.toml"
    path.write_text(f'[collector]\nclusters = {{ prod = "127.0.0.1:9876" }}\n{keys}\n')
    with pytest.raises(Began) as began:
        service.collect(load_config(path, {}, ()))
    assert list(began.value.args) == parts


@pytest.mark.kafka
def test_a_topic_with_another_number_of_partitions_is_refused(collectors: Collectors) -> None:
    """Clusters of partitions that do not exist would be asked by nobody."""
    collectors.broker.create_topic(collectors.topic, partitions=1)
    with pytest.raises(KafkaError, match="has 1 partitions and must have 48"):
        connect(collectors.broker.bootstrap_servers, {}, collectors.topic, CooperativeStickyAssignor())
