"""Members at proxies: which proxies are asked, how often, and what events say of them."""

from dataclasses import replace

import pytest

from schemas.events import Heartbeat, Round
from schemas.identity import proxy_name
from streaming.collector.probing import cluster_probe, directory_probe, group_schedule, policy
from streaming.collector.probing.proxies import FIRST_REST_MS, LONGEST_REST_MS, GroupAtProxies, Proxies
from tests.collector.fake_rocketmq import FakeClient, FakeCluster, FakeGroup
from tests.collector.test_cluster_probe import QUICK, Told, play

GRPC = "host-1@4711@0@hoi3xrg9u3"
A, B = "10.0.0.1:8080", "10.0.0.2:8080"


def test_brokers_say_where_proxies_are() -> None:
    found = Proxies()
    assert found.found(["10.0.0.1", "10.0.0.2"], 0) == [f"found {proxy_name(A)}", f"found {proxy_name(B)}"]
    assert found.found(["10.0.0.1"], group_schedule.KEEP_WATCHING_MS) == []
    assert found.addresses == {proxy_name(A): A, proxy_name(B): B}
    gone = found.found(["10.0.0.1"], group_schedule.KEEP_WATCHING_MS + 1)
    assert gone == [f"{proxy_name(B)} has been gone for long and is forgotten"]
    assert found.addresses == {proxy_name(A): A}


def test_no_others_are_asked_than_those_named() -> None:
    named = Proxies([A])
    assert named.found(["10.0.0.2"], 0) == []
    assert named.due(0) == [proxy_name(A)]


def test_a_proxy_that_is_slow_rests_each_time_twice_as_long() -> None:
    named = Proxies([A, B])
    now, rests = 0, []
    for _ in range(8):
        named.answered(proxy_name(A), now, 2_000, has_answered=True)
        named.answered(proxy_name(A), now, 9_000, has_answered=False)  # of another group, sent at the same time
        assert named.due(now + 2_000) == [proxy_name(B)]
        began = now + 2_000
        while named.due(now) != [proxy_name(A), proxy_name(B)]:
            now += 500
        rests.append(now - began)
    assert rests == [min(FIRST_REST_MS * 2**n, LONGEST_REST_MS) for n in range(8)]
    named.answered(proxy_name(A), now, 1, has_answered=True)
    named.answered(proxy_name(A), now, 2_000, has_answered=True)
    assert named.due(now + 2_000 + FIRST_REST_MS) == [proxy_name(A), proxy_name(B)]


def test_a_group_without_members_there_is_looked_for_at_one_proxy_now_and_then() -> None:
    group = GroupAtProxies(Proxies([A, B]))
    asked = []
    for now in range(0, 180_000, 5_000):
        asked.append(group.due(now))
        for name in asked[-1]:
            group.answered(name, False, now)
    assert [one for one in asked if one] == [[proxy_name(B)], [proxy_name(A)], [proxy_name(B)]]
    group.answered(proxy_name(A), True, 180_000)
    assert group.has_members
    assert group.due(185_000) == [proxy_name(A), proxy_name(B)]
    assert group.watched(185_000) == {proxy_name(A), proxy_name(B)}
    group.answered(proxy_name(A), False, 185_000)
    assert not group.has_members
    assert group.due(190_000) == [proxy_name(A), proxy_name(B)]  # its members may come back
    assert group.watched(180_000 + group_schedule.KEEP_WATCHING_MS) == frozenset()


def test_a_proxy_that_does_not_answer_delays_no_look_at_another_one() -> None:
    proxies = Proxies([A, B])
    group = GroupAtProxies(proxies)
    (silent,) = group.due(0)
    proxies.answered(silent, 0, 3_000, has_answered=False)
    (other,) = group.due(3_000)
    assert other != silent
    group.answered(other, None, 3_000)  # it refuses to say who its members are: it would do so again
    assert group.due(8_000) == []
    assert group.due(63_000) != []


def with_proxies(*listed: list[FakeClient]) -> FakeCluster:
    """``listed``: the members at each proxy."""
    fake = FakeCluster(groups={"g": FakeGroup()}, number_of_proxies=len(listed))
    fake.groups["g"].subscription_table = ("T",)
    return fake


def test_members_at_proxies_are_listed_and_never_asked() -> None:
    async def scene(told: Told) -> None:
        a, b = told.fake.proxies
        both = [FakeClient(GRPC), FakeClient("host-2@4712@0@hoi3xrg9u3")]
        told.fake.groups["g"].at_proxies = {a.name: both, b.name: both[:1]}
        report = await told.round()
        assert (report.groups, report.silent) == (1, {})
        lists = {one.broker_name: one.client_ids for one in told.marker().brokers}
        assert lists == {
            "broker-a": (),
            "broker-b": (),
            a.name: tuple(sorted(client.client_id for client in both)),
            b.name: (GRPC,),
        }
        seen = {(one.broker_name, one.client_id, one.language) for one in told.of(Heartbeat)}
        assert (b.name, GRPC, "JAVA") in seen
        for _ in range(3):
            await told.round()
        codes = {asked.code for asked in told.fake.asked_about if asked.broker in (a.name, b.name)}
        assert codes == {203}
        assert not told.fake.asked_of_clients

    play(scene, with_proxies([], []))


def test_a_group_of_brokers_alone_has_no_proxy_in_its_rounds() -> None:
    fake = FakeCluster(groups={"g": FakeGroup([FakeClient("c1")])}, number_of_proxies=2)

    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
            assert [one.broker_name for one in told.marker().brokers] == ["broker-a", "broker-b"]
        assert sum(proxy.requests[203] for proxy in told.fake.proxies) == 1

    play(scene, fake)


def test_a_proxy_without_an_answer_is_in_the_round_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(told: Told) -> None:
        a, b = told.fake.proxies
        told.fake.groups["g"].at_proxies = {a.name: [FakeClient(GRPC)], b.name: [FakeClient(GRPC)]}
        await told.round()
        b.manner = "hang"
        report = await told.round()
        assert {one.broker_name: one.answered for one in told.marker().brokers} == {
            "broker-a": True, "broker-b": True, a.name: True, b.name: False,
        }  # fmt: skip
        assert list(report.silent) == [b.name]
        asked = b.requests[203]
        await told.round()  # it rests
        assert b.requests[203] == asked
        b.manner = "answer"
        monkeypatch.setattr(told.probe.proxies, "_rests", {})
        report = await told.round()
        assert report.silent == {}

    play(scene, with_proxies([], []))


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("at_brokers", [[], [FakeClient("c1")]])
def test_a_group_is_found_in_its_first_round_though_a_proxy_is_silent(turn: int, at_brokers: list[FakeClient]) -> None:
    async def scene(told: Told) -> None:
        silent, other = sorted(told.fake.proxies, key=lambda proxy: proxy.name)
        told.fake.groups["g"].at_proxies = {other.name: [FakeClient(GRPC)]}
        told.fake.groups["g"].members = at_brokers
        silent.manner = "hang"
        for _ in range(turn):
            told.probe.proxies.one_due(0)
        await told.round()
        assert other.name in {one.broker_name for one in told.marker().brokers if one.answered}

    play(scene, with_proxies([], []))


def test_proxies_are_found_by_the_group_in_which_they_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their host is that of the connection. Two proxies of one host have one id (ip@DEFAULT)."""
    syncers = FakeGroup([FakeClient("10.0.0.1@DEFAULT"), FakeClient("10.0.0.1@DEFAULT")])
    fake = FakeCluster(groups={"g": FakeGroup([FakeClient("c1")]), policy.SYNCER_GROUP: syncers})
    monkeypatch.setattr(directory_probe, "GROUPS_MS", 0)
    monkeypatch.setattr(cluster_probe.Proxies, "one_due", lambda self, now: [])  # there is no such host

    async def scene(told: Told) -> None:
        await told.round()
        assert told.probe.proxies.addresses == {proxy_name(A): A}
        assert {event.group for event in told.of(Round)} == {"g"}  # RocketMQ's own group is not judged

    play(scene, fake, replace(QUICK))
