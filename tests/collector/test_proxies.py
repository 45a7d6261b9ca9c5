"""Members at proxies: which proxies are asked, how often, and what events say of them."""

from dataclasses import replace

import pytest

from schemas.events import Heartbeat, Round
from schemas.identity import REVIVE_GROUP, proxy_name
from streaming.collector.probing import cluster_probe, directory_probe, group_schedule, policy
from streaming.collector.probing.proxies import FIRST_REST_MS, LONGEST_REST, GroupAtProxies, Proxies
from streaming.collector.probing.proxy_search import AT_MOST, MOST_PORTS, NEW_FOR_MS, NEW_READ_MS, READ_MS, Ports
from streaming.collector.wire.answers import Connection
from streaming.collector.wire.proxy_messages import SYNCER_TOPIC, Listening
from streaming.collector.wire.requests import READER, Code
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, syncer_message
from tests.collector.test_cluster_probe import QUICK, Told, play

GRPC = "host-1@4711@0@hoi3xrg9u3"
A, B = "10.0.0.1:8080", "10.0.0.2:8080"


def test_brokers_say_where_proxies_are() -> None:
    found = Proxies()
    assert found.found([A, B], 0) == [f"found {proxy_name(A)}", f"found {proxy_name(B)}"]
    assert found.found([A], group_schedule.KEEP_WATCHING_MS) == []
    assert found.addresses == {proxy_name(A): A, proxy_name(B): B}
    gone = found.found([A], group_schedule.KEEP_WATCHING_MS + 1)
    assert gone == [f"{proxy_name(B)} has been gone for long and is forgotten"]
    assert found.addresses == {proxy_name(A): A}


def test_an_assumed_address_is_given_up_once_the_port_is_known() -> None:
    found = Proxies()
    found.found([A, B], 0)
    found.answered(proxy_name(A), 0, 3_000, has_answered=False)
    told = found.found(["10.0.0.1:9090"], 30_000, wrong=[A])
    assert told == [f"found {proxy_name('10.0.0.1:9090')}", f"{proxy_name(A)} listens on another port"]
    assert set(found.addresses.values()) == {"10.0.0.1:9090", B}
    assert found.found(["10.0.0.1:9090"], 60_000, wrong=[A]) == []


def connected(*places: tuple[str, str]) -> list[Connection]:
    return [Connection(client_id, address) for client_id, address in places]


def test_a_port_is_that_of_the_host_that_a_proxy_names() -> None:
    ports = Ports()
    two_hosts = connected(("10.0.0.1@DEFAULT", "10.0.0.1:40001"), ("10.0.0.2@DEFAULT", "10.0.0.2:40002"))
    assert ports.addresses(two_hosts) == ([A, B], [])
    ports.take(two_hosts, [Listening("10.0.0.1", 9090, 5), Listening("10.9.9.9", 22, 5)])
    assert ports.addresses(two_hosts) == (["10.0.0.1:9090", B], [A])
    ports.take(two_hosts, [Listening("10.0.0.2", 8080, 5)])
    assert ports.addresses(two_hosts) == (["10.0.0.1:9090", B], [A])
    ports.keep({"10.0.0.2"})
    assert ports.addresses(two_hosts) == ([A, B], [])


def test_proxies_behind_another_address_are_known_by_their_ids() -> None:
    """As from a container: brokers see the address of its machine, and the proxy has its own."""
    ports = Ports()
    machines = connected(("172.17.0.2@DEFAULT", "10.0.0.1:40001"), ("172.17.0.3@DEFAULT", "[fd00::1]:40002"))
    ports.take(machines, [Listening("172.17.0.2", 9090, 5), Listening("fd00::1", 9091, 5)])
    assert ports.addresses(machines)[0] == ["10.0.0.1:9090", "[fd00::1]:9091"]


def test_of_a_host_as_many_ports_count_as_it_has_proxies() -> None:
    """Those named last: another port is that of a proxy that was there before, or of nobody."""
    ports = Ports()
    one = connected(("10.0.0.1@DEFAULT", "10.0.0.1:40001"))
    two = [*one, *connected(("10.0.0.1@DEFAULT", "10.0.0.1:40002"))]
    ports.take(one, [Listening("10.0.0.1", 9090, 5), Listening("10.0.0.1", 9091, 6), Listening("10.0.0.1", 9090, 7)])
    assert ports.addresses(one)[0] == ["10.0.0.1:9090"]
    assert ports.addresses(two)[0] == ["10.0.0.1:9091", "10.0.0.1:9090"]
    ports.take(one, [Listening("10.0.0.1", 1_000 + number, 8 + number) for number in range(100)])
    many = connected(*(("10.0.0.1@DEFAULT", f"10.0.0.1:{40_000 + number}") for number in range(100)))
    assert len(ports.addresses(many)[0]) == MOST_PORTS


def test_no_others_are_asked_than_those_named() -> None:
    named = Proxies([A])
    assert named.found([B], 0) == []
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
    assert rests == [FIRST_REST_MS * min(2**n, LONGEST_REST) for n in range(8)]
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


def test_a_proxy_without_an_answer_is_in_the_round_as_such() -> None:
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
        told.probe.proxies._rests.forget(b.name)
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
        assert {event.group for event in told.of(Round)} == {"g", REVIVE_GROUP}  # the proxies' group is not judged

    play(scene, fake, replace(QUICK))


def proxies_on_any_port(*, know_reader: bool = True, refused: frozenset[int] = frozenset()) -> FakeCluster:
    """Two proxies of one host, of which the second has a member of the group."""
    syncers = FakeGroup([FakeClient("10.0.0.9@DEFAULT", host="127.0.0.1") for _ in range(2)])
    groups = {"g": FakeGroup(), policy.SYNCER_GROUP: syncers}
    if know_reader:
        groups[READER] = FakeGroup()
    return FakeCluster(groups=groups, number_of_proxies=2, refused=set(refused))


def heartbeats_at(told: Told, broker: str) -> list[bytes]:
    """Messages there, as both proxies write them."""
    ids = ["%".join((*proxy.address.rsplit(":", 1), "8081")) for proxy in told.fake.proxies]
    written = [syncer_message(proxy_id, ts) for ts in range(100) for proxy_id in ids]
    told.fake.written[SYNCER_TOPIC, broker] = written
    return written


def asked(told: Told, code: Code) -> int:
    return sum(node.requests[code] for node in told.fake.nodes.values())


def test_proxies_on_any_port_are_found_by_what_they_write() -> None:
    async def scene(told: Told) -> None:
        told.fake.groups["g"].at_proxies = {proxy.name: [FakeClient(GRPC)] for proxy in told.fake.proxies}
        for broker in told.fake.nodes:
            heartbeats_at(told, broker)
        await told.round()
        assert set(told.probe.proxies.addresses.values()) == {proxy.address for proxy in told.fake.proxies}
        assert GRPC in {client_id for one in told.marker().brokers for client_id in one.client_ids}
        assert asked(told, Code.PULL_MESSAGE) == 1
        assert not any(proxy.requests[Code.PULL_MESSAGE] for proxy in told.fake.proxies)

    play(scene, proxies_on_any_port(), names_proxies=False)


@pytest.mark.parametrize("why", ["refused", "unknown reader", "damaged", "nothing written"])
def test_proxies_that_do_not_say_their_port_are_assumed_at_the_usual_one(
    why: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(directory_probe, "GROUPS_MS", 0)
    monkeypatch.setattr(cluster_probe.Proxies, "one_due", lambda self, now: [])  # there is none

    async def scene(told: Told) -> None:
        for broker in told.fake.nodes if why != "nothing written" else ():
            written = heartbeats_at(told, broker)
            if why == "damaged":
                written[:] = [one[:-100] + bytes(100) for one in written]
        for _ in range(3):
            await told.probe.directory.learn()
        assert list(told.probe.proxies.addresses.values()) == ["127.0.0.1:8080"]
        assert asked(told, Code.PULL_MESSAGE) == (1 if why in SAID else 0)
        said = [record.getMessage() for record in caplog.records if SYNCER_TOPIC in record.getMessage()]
        assert len(said) == (1 if why in SAID else 0)
        assert SAID.get(why, "") in "".join(said)

    refused = frozenset({int(Code.PULL_MESSAGE)}) if why == "refused" else frozenset[int]()
    play(scene, proxies_on_any_port(know_reader=why != "unknown reader", refused=refused), names_proxies=False)


SAID = {
    "refused": f"does not give the messages of {SYNCER_TOPIC}: code 16",
    "damaged": f"{AT_MOST} messages of {SYNCER_TOPIC}",
}


def test_what_proxies_write_is_read_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """From one broker at a time; more often for a while after a proxy has come."""
    monkeypatch.setattr(directory_probe, "GROUPS_MS", 0)
    monkeypatch.setattr(cluster_probe.Proxies, "one_due", lambda self, now: [])

    async def scene(told: Told) -> None:
        for broker in told.fake.nodes:
            heartbeats_at(told, broker)
        read_at = []
        for now in range(0, 1_050_000, NEW_READ_MS):
            monkeypatch.setattr(told.probe.clock, "steady_ms", lambda now=now: now)
            if now == 450_000:
                told.fake.groups[policy.SYNCER_GROUP].members.append(FakeClient("10.0.0.9@DEFAULT", host="127.0.0.1"))
            before = asked(told, Code.GET_MAX_OFFSET)
            await told.probe.directory.learn()
            read_at += [now] * (asked(told, Code.GET_MAX_OFFSET) - before)
        first, second = (range(at, at + NEW_FOR_MS, NEW_READ_MS) for at in (0, 450_000))
        assert read_at == [*first, *second, second[-1] + READ_MS]
        assert asked(told, Code.PULL_MESSAGE) <= len(told.fake.nodes)  # nothing was written meanwhile

    play(scene, proxies_on_any_port(), names_proxies=False)


def test_a_broker_that_gives_no_messages_is_read_after_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_probe, "GROUPS_MS", 0)
    monkeypatch.setattr(cluster_probe.Proxies, "one_due", lambda self, now: [])

    async def scene(told: Told) -> None:
        heartbeats_at(told, "broker-b")
        told.fake.refused_by["broker-a"] = {Code.GET_MAX_OFFSET}
        for now in (0, NEW_READ_MS):
            monkeypatch.setattr(told.probe.clock, "steady_ms", lambda now=now: now)
            await told.probe.directory.learn()
        assert set(told.probe.proxies.addresses.values()) == {proxy.address for proxy in told.fake.proxies}

    play(scene, proxies_on_any_port(), names_proxies=False)
