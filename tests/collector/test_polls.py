"""Polls that wait at brokers: which brokers are asked for them, of which topics, and what a round says of them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from schemas.events import ANY_QUEUE, Round, TopicPolls, decode_event, encode_event
from streaming.collector.probing import directory_probe
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS
from streaming.collector.probing.memory import Memory, Remembered
from streaming.collector.probing.poll_schedule import SINGLE_QUEUES_AT_MOST, PollSchedule
from streaming.collector.probing.request_load import Footprint, estimate
from streaming.collector.translation.rounds import in_parts
from streaming.collector.wire.answers import OffsetRow, PollsAnswer, ProcessQueue
from streaming.replay.recording import RecordingTranslation
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup
from tests.collector.test_cluster_probe import QUICK, Told, play

GRPC = "host-1@4711@0@hoi3xrg9u3"
POLLING_INFO = 200055
EACH_ROUND = replace(QUICK, offsets_ms=1, idle_offsets_ms=1)


def due(polls: PollSchedule, broker: str, topics: list[str], now: int) -> list[str]:
    """The topics that a broker is asked about, each of them at any of its queues."""
    asked = polls.due(broker, dict.fromkeys(topics, 4), (), now)
    assert {queue_id for _, queue_id in asked} <= {ANY_QUEUE}
    return [topic for topic, _ in asked]


def asked(told: Told) -> list[tuple[str, str]]:
    return [(one.broker, one.subject) for one in told.fake.asked_about if one.code == POLLING_INFO]


def test_a_round_says_how_many_polls_wait_at_each_broker() -> None:
    async def scene(told: Told) -> None:
        (proxy,) = told.fake.proxies
        told.fake.groups["g"].at_proxies = {proxy.name: [FakeClient(GRPC)]}
        await told.round()
        await told.round()
        polls = {(one.broker_name, one.topic, one.queue_id, one.waiting) for one in told.marker().polls}
        assert polls == {("broker-a", "T", ANY_QUEUE, 3), ("broker-b", "T", ANY_QUEUE, 0)}
        recorded = [line for line in told.lines if isinstance(line, PollsAnswer)]
        assert {(line.broker, line.waiting) for line in recorded} == {("broker-a", 3), ("broker-b", 0)}
        assert proxy.requests[POLLING_INFO] == 0
        assert set(told.probe.shared.lags.polls()) == {("g", "T", "broker-a", 3), ("g", "T", "broker-b", 0)}

    fake = FakeCluster(groups={"g": FakeGroup()}, number_of_proxies=1, polls={("T", "broker-a"): 3})
    fake.groups["g"].subscription_table = ("T",)
    play(scene, fake, EACH_ROUND)


def test_one_request_a_broker_and_topic_each_time_that_offsets_are_asked() -> None:
    async def scene(told: Told) -> None:
        for _ in range(4):
            await told.round()
            await told.round()
        for node in told.fake.nodes.values():
            stats = [one for one in told.fake.asked_about if (one.broker, one.code) == (node.name, 208)]
            assert 0 < node.requests[POLLING_INFO] <= 2 * len(stats)
        assert {subject for _, subject in asked(told)} == {"g"}

    fake = FakeCluster(groups={"g": FakeGroup([FakeClient(GRPC)], topics=("T", "U"))}, queues={"T": 4, "U": 1})
    fake.groups["old"] = FakeGroup([FakeClient("c1")])
    play(scene, fake, EACH_ROUND)


def test_a_group_of_other_clients_costs_no_request() -> None:
    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
        assert not asked(told)

    play(scene, None, EACH_ROUND)


def test_only_a_broker_that_names_the_group_is_asked() -> None:
    """It would make the group."""
    polls = PollSchedule()
    polls.listed("proxy 10.0.0.1:8080", [GRPC])
    polls.known_by(["broker-a"])
    assert due(polls, "broker-a", ["T", "%RETRY%g"], 0) == ["T"]
    assert due(polls, "broker-b", ["T"], 0) == []
    assert (polls.number_on("broker-a"), polls.number_on("broker-b")) == (1, 0)
    polls.listed("proxy 10.0.0.1:8080", None)  # it gave no list
    assert due(polls, "broker-a", ["T"], 0) == ["T"]
    polls.listed("proxy 10.0.0.1:8080", [])
    assert due(polls, "broker-a", ["T"], 0) == []


def popped(*queues: tuple[str, int]) -> tuple[ProcessQueue, ...]:
    return tuple(ProcessQueue(topic, "broker-b", queue_id) for topic, queue_id in queues)


def pops(*queues: tuple[str, int]) -> PollSchedule:
    """Of a group of one remoting client that pops these queues."""
    polls = PollSchedule()
    polls.known_by(["broker-a", "broker-b"])
    polls.reported("c1", popped(*queues))
    return polls


def test_a_broker_is_asked_about_the_queues_that_remoting_clients_pop() -> None:
    """At any queue, or at each, whatever broker a client reports: one that nobody pops is asked about, too."""
    polls = pops(("T", -1))
    assert polls.due("broker-a", {"T": 2, "U": 2, "%RETRY%g": 1}, (), 0) == [("T", ANY_QUEUE)]
    polls = pops(("T", 1), ("T", 0))
    assert polls.due("broker-a", {"T": 3, "U": 2}, (), 0) == [("T", 0), ("T", 1), ("T", 2)]
    assert polls.number_on("broker-a") == 3
    polls.reported("c2", popped(("T", -1)))  # popShareQueueNum was changed a moment ago
    assert polls.due("broker-a", {"T": 1}, (), 0) == [("T", ANY_QUEUE), ("T", 0)]
    polls.reported("c1", ())
    assert polls.due("broker-a", {"T": 1}, (), 0) == [("T", ANY_QUEUE)]
    polls.members({"broker-a": ["c1"], "broker-b": []})
    assert polls.due("broker-a", {"T": 1}, (), 0) == []
    assert polls.number_on("broker-a") == 0


def test_of_many_queues_those_with_waiting_messages_come_first_and_all_have_their_turn() -> None:
    polls, count = pops(("T", 0)), 3 * SINGLE_QUEUES_AT_MOST
    waiting = [OffsetRow("T", 40, "broker-a", 9, 5), OffsetRow("T", 41, "broker-a", 9, 9)]
    turns = [{queue_id for _, queue_id in polls.due("broker-a", {"T": count}, waiting, now)} for now in range(4)]
    assert {len(turn) for turn in turns} == {SINGLE_QUEUES_AT_MOST}
    assert all(40 in turn for turn in turns)
    assert set().union(*turns) == set(range(count))


def test_a_round_says_how_many_polls_wait_at_each_queue_that_is_popped() -> None:
    async def scene(told: Told) -> None:
        for _ in range(4):
            await told.round()
        polls = {(one.broker_name, one.topic, one.queue_id, one.waiting) for one in told.marker().polls}
        assert polls == {(broker, "T", n, 2 * (n == 1)) for broker in ("broker-a", "broker-b") for n in range(3)}
        assert {queue_id for _, _, queue_id in told.fake.asked_polls} == {0, 1, 2}

    client = FakeClient("c1", popped=[("T", "broker-a", 1)], properties={"clientRebalance": "false"})
    singles = {("T", broker, 1): 2 for broker in ("broker-a", "broker-b")}
    fake = FakeCluster(groups={"g": FakeGroup([client])}, queues={"T": 3}, single_polls=singles)
    play(scene, fake, EACH_ROUND)


def test_a_group_is_not_asked_for_polls_for_ever_after_who_listed_grpc_clients_is_gone() -> None:
    polls = PollSchedule()
    polls.known_by(["broker-a"])
    polls.listed("proxy 10.0.0.1:8080", [GRPC])
    polls.keep({"broker-a", "proxy 10.0.0.1:8080"})
    assert due(polls, "broker-a", ["T"], 0) == ["T"]
    polls.keep({"broker-a"})
    assert due(polls, "broker-a", ["T"], 0) == []


def test_only_topics_are_asked_about_that_members_subscribed_to_lately() -> None:
    """A client of a proxy tells its subscription every five minutes, and members may have different ones."""
    polls = PollSchedule()
    polls.known_by(["broker-a"])
    polls.listed("proxy 10.0.0.1:8080", [GRPC])
    assert due(polls, "broker-a", ["T", "U", "old"], 0) == ["T", "U", "old"]  # none is known
    polls.subscribed(["T"], 0)
    polls.subscribed(["U"], 300_000)
    assert due(polls, "broker-a", ["T", "U", "old"], KEEP_WATCHING_MS) == ["T", "U"]
    assert due(polls, "broker-a", ["T", "U", "old"], KEEP_WATCHING_MS + 1) == ["U"]
    assert due(polls, "broker-a", ["T", "U", "old"], 300_000 + KEEP_WATCHING_MS + 1) == ["T", "U", "old"]


def test_a_topic_of_which_only_offsets_are_left_is_not_asked_about() -> None:
    """Offsets named the topics while the group was empty."""

    async def scene(told: Told) -> None:
        (proxy,) = told.fake.proxies
        told.probe.recall(Memory(told.probe.clock.steady_ms(), {"g": Remembered(("T", "U"))}))
        told.fake.groups["g"].at_proxies = {proxy.name: [FakeClient(GRPC)]}
        for _ in range(3):
            await told.round()
        assert {one.topic for one in told.marker().polls} == {"T"}

    fake = FakeCluster(groups={"g": FakeGroup(topics=("T", "U"))}, queues={"T": 4, "U": 1}, number_of_proxies=1)
    fake.groups["g"].subscription_table = ("T",)
    play(scene, fake, EACH_ROUND)


def test_a_broker_of_the_4x_line_is_not_asked_again_for_a_while() -> None:
    polls = PollSchedule()
    polls.listed("broker-a", [GRPC])
    polls.known_by(["broker-a", "broker-b"])
    polls.refused("broker-b", 16, 1_000)  # consuming is disabled: that may change
    polls.refused("broker-a", 3, 1_000)
    assert due(polls, "broker-b", ["T"], 1_000) == ["T"]
    assert due(polls, "broker-a", ["T"], KEEP_WATCHING_MS) == []
    assert due(polls, "broker-a", ["T"], 1_000 + KEEP_WATCHING_MS) == ["T"]


def test_a_dry_run_counts_them() -> None:
    group = Footprint(("broker-a",), {}, True, ("T", "U"), polls={"broker-a": 2})
    load = estimate([group], {}, replace(QUICK, offsets_ms=20_000))
    assert load.brokers["broker-a"]["polls"] == 0.1
    assert "polls" not in estimate([group._replace(polls={})], {}, QUICK).brokers["broker-a"]


def test_a_broker_that_refuses_gives_no_number_of_polls() -> None:
    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
            assert told.marker().polls == ()
        assert asked(told)

    fake = FakeCluster(groups={"g": FakeGroup([FakeClient(GRPC)])}, refused={POLLING_INFO})
    play(scene, fake, EACH_ROUND)


@pytest.mark.parametrize(
    ("there", "consume_type", "found"),
    [
        ({"consumeEnable": False}, "CONSUME_PASSIVELY", [[0], [0]]),
        ({"consumeEnable": False}, "CONSUME_ACTIVELY", [[0], [0]]),
        (None, "CONSUME_PASSIVELY", [[], [0]]),
        (None, "CONSUME_ACTIVELY", [[], []]),  # a SimpleConsumer may not have come to the broker yet
    ],
)
def test_nobody_polls_where_the_group_may_not_consume_or_has_not_been_known_for_long(
    there: dict[str, bool] | None, consume_type: str, found: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a broker is not asked: it would refuse to answer, or make the group."""

    def at(told: Told, broker: str) -> list[int]:
        return [one.waiting for one in told.marker().polls if one.broker_name == broker]

    monkeypatch.setattr(directory_probe, "GROUPS_MS", 60_000)

    async def scene(told: Told) -> None:
        monkeypatch.setattr(directory_probe, "LACKING_MS", 60_000)
        for _ in range(3):
            await told.round()
        assert at(told, "broker-b") == found[0]
        monkeypatch.setattr(directory_probe, "LACKING_MS", 0)
        await told.round()
        assert (at(told, "broker-a"), at(told, "broker-b")) == ([3], found[1])
        assert told.fake.nodes["broker-b"].requests[POLLING_INFO] == 0
        assert told.probe.load(QUICK)[2].brokers["broker-b"].get("polls", 0) == 0
        monkeypatch.setattr(directory_probe, "GROUPS_MS", -60_000)  # its settings are old
        assert not told.probe.directory.is_closed("broker-b", "g", all_push=True)

    group = FakeGroup([FakeClient(GRPC)], settings_on={"broker-b": there}, consume_type=consume_type)
    play(scene, FakeCluster(groups={"g": group}, polls={("T", "broker-a"): 3}), EACH_ROUND)


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_broker_that_comes_back_is_given_time_to_learn_of_the_group(
    is_forgotten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did not say for a while which groups it knows, or was gone for long."""

    async def scene(told: Told) -> None:
        await told.round()
        directory, clock = told.probe.directory, SimpleNamespace(now=told.probe.clock.steady_ms())
        clock.steady_ms = lambda: clock.now
        monkeypatch.setattr(directory, "_clock", clock)

        async def is_closed_after(ms: int) -> bool:
            clock.now += ms
            await directory.learn()
            return directory.is_closed("broker-b", "g", all_push=True)

        assert [await is_closed_after(30_000) for _ in range(3)] == [False, False, True]  # the round asked first
        if is_forgotten:
            directory._forget_broker("broker-b")
        else:
            clock.now += 90_000
            assert not directory.is_closed("broker-b", "g", all_push=True)
        assert [await is_closed_after(30_000) for _ in range(4)] == [False, False, False, True]

    group = FakeGroup([FakeClient(GRPC)], settings_on={"broker-b": None})
    play(scene, FakeCluster(groups={"g": group}), EACH_ROUND)


def test_a_broker_that_knew_the_group_lacks_it_when_a_second_list_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clients are there: the next poll of one would have made the group again."""

    async def scene(told: Told) -> None:
        await told.round()
        directory, clock = told.probe.directory, SimpleNamespace(now=told.probe.clock.steady_ms())
        clock.steady_ms = lambda: clock.now
        monkeypatch.setattr(directory, "_clock", clock)

        async def is_closed_after(ms: int, all_push: bool = True) -> bool:
            clock.now += ms
            await directory.learn()
            return directory.is_closed("broker-b", "g", all_push)

        assert not await is_closed_after(10_000)
        group.settings_on["broker-b"] = None
        assert [await is_closed_after(ms) for ms in (10_000, 10_000, 20_000, 10_000)] == [False, False, False, True]
        group.settings_on["broker-b"] = {}
        assert [await is_closed_after(ms) for ms in (20_000, 10_000)] == [True, False]
        group.settings_on["broker-b"] = None
        assert [await is_closed_after(30_000, all_push=False) for _ in range(9)] == [False] * 9
        assert [await is_closed_after(30_000) for _ in range(4)] == [False, False, False, True]

    group = FakeGroup([FakeClient(GRPC)])
    play(scene, FakeCluster(groups={"g": group}), EACH_ROUND)


def test_members_are_all_push_consumers_if_each_list_says_so() -> None:
    polls = PollSchedule()
    assert not polls.all_push  # nobody says how they consume
    polls.connected("proxy 10.0.0.1:8080", "CONSUME_PASSIVELY")
    polls.connected("proxy 10.0.0.1:8080", None)
    assert polls.all_push
    polls.connected("proxy 10.0.0.2:8080", "CONSUME_ACTIVELY")
    assert not polls.all_push
    polls.listed("proxy 10.0.0.2:8080", None)
    assert not polls.all_push
    polls.listed("proxy 10.0.0.2:8080", ())
    assert polls.all_push
    polls.connected("proxy 10.0.0.3:8080", "CONSUME_ACTIVELY")
    polls.keep(["proxy 10.0.0.1:8080"])
    assert polls.all_push


def test_a_topic_that_nobody_may_read_is_not_asked_about() -> None:
    """A broker notes that as an error in its log."""

    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
        assert not asked(told)

    fake = FakeCluster(groups={"g": FakeGroup([FakeClient(GRPC)])}, queues={"T": 0}, write_queues={"T": 4})
    play(scene, fake, EACH_ROUND)


def test_a_recording_gives_the_same_polls() -> None:
    async def scene(told: Told) -> None:
        events: list[object] = []
        for _ in range(3):
            await told.round()
            events += told.of(Round)
        replayed = RecordingTranslation(source="collector 1", confirms=False)
        again = [event for line in told.lines for event in replayed.feed(line) if isinstance(event, Round)]
        assert [one.polls for one in again] == [one.polls for one in events if isinstance(one, Round)]
        assert any(one.polls for one in again)

    fake = FakeCluster(groups={"g": FakeGroup([FakeClient(GRPC)])}, polls={("T", "broker-a"): 1})
    play(scene, fake, EACH_ROUND)


def test_polls_are_spread_over_the_parts_of_a_long_round() -> None:
    polls = tuple(TopicPolls("broker-a", f"T{n}" + "x" * 400, ANY_QUEUE, 1_000, 1) for n in range(900))
    marker = Round(schema=1, cluster="c", group="g", ts=1_000, round=1, seq=0, brokers=(), polls=polls)
    parts = in_parts(marker, lambda: {"seq": 1})
    assert len(parts) > 1
    assert tuple(one for part in parts for one in part.polls) == polls
    assert decode_event(encode_event(parts[0])) == parts[0]
