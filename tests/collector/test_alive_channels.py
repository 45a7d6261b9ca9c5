"""Which connections under one client id are alive: asked when an id is listed twice, known by two answers."""

import asyncio
from types import SimpleNamespace

import pytest

from streaming.collector.probing.heartbeat_schedule import TRIES_AT_MOST, HeartbeatSchedule
from streaming.collector.probing.live_transport import COUNTS_MS, LiveTransport
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.collector.translation.alive_channels import HEARTBEAT_MS, AliveChannels
from streaming.collector.wire.answers import ChannelHeartbeat
from streaming.collector.wire.client import Reply
from streaming.collector.wire.frames import Frame

TWICE, ONCE = ("c", "c", "d"), ("c", "d")


def answer(**heartbeats: int) -> list[ChannelHeartbeat]:
    return [ChannelHeartbeat("c", address, ts) for address, ts in heartbeats.items()]


@pytest.mark.parametrize(
    ("name", "answers", "alive"),
    [
        ("one answer says nothing", [{"a": 1, "b": 9}], None),
        ("both have sent another", [{"a": 1, "b": 9}, {"a": 31, "b": 39}], 2),
        ("one is dead", [{"a": 1, "b": 9}, {"a": 1, "b": 39}], 1),
        ("and stays dead", [{"a": 1, "b": 9}, {"a": 1, "b": 39}, {"a": 1, "b": 69}], 1),
        ("one stops", [{"a": 1, "b": 9}, {"a": 31, "b": 39}, {"a": 31, "b": 69}], 1),
        ("one goes on after a pause", [{"a": 1, "b": 9}, {"a": 1, "b": 39}, {"a": 61, "b": 69}], 2),
        ("heartbeats from before the second was there do not count", [{"a": 1}, {"a": 31, "b": 31}], None),
        ("a third begins again", [{"a": 1, "b": 9}, {"a": 31, "b": 39}, {"a": 31, "b": 39, "x": 40}], None),
        ("another address begins again", [{"a": 1, "b": 9}, {"a": 31, "x": 39}], None),
        ("both are dead", [{"a": 1, "b": 9}, {"a": 1, "b": 9}], 0),
    ],
)
def test_a_connection_is_alive_that_sent_a_heartbeat_since_all_were_there(
    name: str, answers: list[dict[str, int]], alive: int | None
) -> None:
    channels = AliveChannels()
    for number, heartbeats in enumerate(answers):
        channels.take(answer(**heartbeats), number * HEARTBEAT_MS)
    assert channels.of("c", answers[-1]) == alive, name


def test_a_client_that_runs_may_have_sent_no_heartbeat_for_less_than_31_s() -> None:
    channels, said = AliveChannels(), []
    for ts, a, b in [(40, 11, 39), (60, 41, 39), (75, 71, 69), (85, 71, 69), (106, 71, 99), (112, 71, 99)]:
        channels.take(answer(a=a, b=b), ts * 1_000)
        said.append(channels.of("c", "ab"))
    assert said == [None, 1, 2, 2, 1, 1]


def test_other_connections_than_those_of_the_list_say_nothing() -> None:
    channels = AliveChannels()
    for ts in (1, 31):
        channels.take(answer(a=ts, b=ts), ts * 1_000)
    assert channels.of("c", ("a", "b")) == 2
    assert channels.of("c", ("a", "z")) is None
    channels.keep_only(())
    assert channels.of("c", ("a", "b")) is None


def asked(lists: dict[str, tuple[str, ...]], seconds: range, schedule: HeartbeatSchedule | None = None) -> list[int]:
    schedule, found = schedule or HeartbeatSchedule(), []
    for second in seconds:
        schedule.listed(lists)
        if schedule.due(second * 1_000):
            found.append(second)
    return found


def test_nobody_is_asked_where_no_id_is_listed_twice() -> None:
    assert asked({"x": ONCE, "y": ONCE}, range(0, 300, 5)) == []


def test_a_broker_is_asked_at_once_and_after_each_heartbeat_until_a_dead_connection_would_be_gone() -> None:
    every = -(-HEARTBEAT_MS // 5_000) * 5
    assert asked({"x": TWICE, "y": TWICE}, range(0, 600, 5)) == [every * n for n in range(TRIES_AT_MOST)]


def test_it_is_asked_as_often_again_when_a_connection_stops_or_goes_on() -> None:
    schedule, lists = HeartbeatSchedule(), {"x": TWICE}
    assert len(asked(lists, range(0, 600, 5), schedule)) == TRIES_AT_MOST
    for began, alive, times in [
        (1_000, frozenset[str](), 0),
        (2_000, frozenset({"c"}), TRIES_AT_MOST - 1),
        (3_000, frozenset({"c"}), 0),
        (4_000, frozenset[str](), TRIES_AT_MOST - 1),
    ]:
        schedule.answered(alive)
        assert len(asked(lists, range(began, began + 600, 5), schedule)) == times


def test_one_broker_is_enough_and_another_id_begins_again() -> None:
    schedule = HeartbeatSchedule()
    schedule.listed({"y": TWICE, "z": TWICE})
    assert schedule.due(0) == ("y", {"c"})
    schedule.listed({"y": TWICE, "z": TWICE, "x": ONCE})
    assert schedule.due(5_000) is None
    schedule.listed({"y": ("c", "c", "d", "d")})
    assert schedule.due(10_000) == ("y", {"c", "d"})
    schedule.listed({"y": ONCE})
    assert schedule.due(15_000) == ("z", {"c"})
    schedule.listed({"z": ONCE})
    assert schedule.due(20_000) is None


def test_groups_share_the_answer_of_a_broker_for_a_while() -> None:
    now, brokers = [0], []

    async def ask(address: str, *request: object) -> Reply:
        brokers.append(address)
        return Reply(now[0], 1, Frame(0, 1, True, "", b"{}"), None, now[0])

    async def scene() -> None:
        client = SimpleNamespace(clock=SimpleNamespace(steady_ms=lambda: now[0]), ask=ask)
        transport = LiveTransport("prod", client, (), {"a": "a", "b": "b"}, DEFAULT_POLICY)  # type: ignore[arg-type]
        asked = (transport.heartbeats("a", f"g{number}", ()) for number in range(50))
        await asyncio.gather(*asked, transport.heartbeats("b", "g", ()))
        now[0] = COUNTS_MS - 1
        await transport.heartbeats("a", "g", ())
        assert sorted(brokers) == ["a", "b"]
        now[0] = COUNTS_MS
        await transport.heartbeats("a", "g", ())
        assert sorted(brokers) == ["a", "a", "b"]

    asyncio.run(scene())
