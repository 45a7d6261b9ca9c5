"""Several name servers that do not hold the same: what each has of a topic is told."""

import asyncio
from dataclasses import replace

import pytest

from schemas.events import RouteQueues, TopicRoute
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.collector.translation import routes
from testing.fake_rocketmq import FakeNode
from tests.collector.test_cluster_probe import Told, play

ALWAYS = replace(DEFAULT_POLICY, timeout_ms=500, interval_ms=300, spreads=False, route_ms=0)
LESS = {"broker-a": 2, "broker-b": 2}


def route_of(told: Told, topic: str = "T") -> TopicRoute:
    return [route for route in told.of(TopicRoute) if route.topic == topic][-1]


async def until_told(told: Told) -> None:
    """Rounds until a route is told: it is learned beside them, and of three name servers two are asked each time."""
    for _ in range(6):
        await told.round()
        if told.of(TopicRoute):
            return
    raise AssertionError("no route is told")


def copies_of(route: TopicRoute) -> dict[str, set[str]]:
    """Queues of broker-a by who has them."""
    copies = [(route.name_servers, route.brokers), *((o.name_servers, o.brokers) for o in route.others or ())]
    return {sizes(brokers): set(names) for names, brokers in copies}


def sizes(brokers: tuple[RouteQueues, ...]) -> str:
    return " ".join(f"{queues.broker_name}:{queues.read_queue_nums}" for queues in brokers)


def routes_asked(node: FakeNode) -> int:
    return node.requests[105]


def test_name_servers_that_agree_are_told_as_one_route() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert (route_of(told).name_servers, route_of(told).others) == ((), ())

    play(scene, policy=ALWAYS, name_servers=2)


def test_a_single_name_server_is_all_there_is() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert route_of(told).others == ()

    play(scene, policy=ALWAYS)


@pytest.mark.parametrize("lagging", [0, 1, 2])
def test_a_name_server_that_lags_is_told_with_what_it_has(lagging: int) -> None:
    async def scene(told: Told) -> None:
        await told.round()
        told.fake.name_servers[lagging].holds["T"] = LESS
        await until_told(told)
        behind = told.fake.name_servers[lagging].address
        assert copies_of(route_of(told)) == {
            "broker-a:4 broker-b:4": set(told.fake.namesrv) - {behind},
            "broker-a:2 broker-b:2": {behind},
        }
        told.fake.name_servers[lagging].holds.clear()
        await until_told(told)
        assert (sizes(route_of(told).brokers), route_of(told).others) == ("broker-a:4 broker-b:4", ())

    play(scene, policy=ALWAYS, name_servers=3)


def test_each_time_one_besides_is_asked_and_all_when_something_is_new() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        before = [routes_asked(node) for node in told.fake.name_servers]
        await told.round()
        asked = [routes_asked(node) - number for node, number in zip(told.fake.name_servers, before, strict=True)]
        assert sorted(asked) == [0, 0, 1, 1]  # the retry topic is asked for once a minute
        told.fake.queues["T"] = 8
        await until_told(told)
        assert copies_of(route_of(told)) == {"broker-a:8 broker-b:8": set()}

    play(scene, policy=ALWAYS, name_servers=4)


def test_brokers_that_only_another_name_server_knows_are_asked_too() -> None:
    async def scene(told: Told) -> None:
        first = told.fake.name_servers[0]
        first.lacks.add("broker-b")
        first.holds["T"] = first.holds["%RETRY%g"] = {"broker-a": 4}
        await told.round()
        assert {(b.broker_name, b.answered) for b in told.marker().brokers} == {("broker-a", True), ("broker-b", True)}
        assert set(copies_of(route_of(told))) == {"broker-a:4", "broker-a:4 broker-b:4"}

    play(scene, policy=ALWAYS, name_servers=2)


@pytest.mark.slow("time-outs pass")
def test_a_name_server_that_hangs_holds_nobody_up_and_its_copy_stands_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(told: Told) -> None:
        last = told.fake.name_servers[1]
        last.holds["T"] = LESS
        await told.round()
        assert len(copies_of(route_of(told))) == 2
        last.manner = "hang"
        await told.round()
        assert told.of(TopicRoute) == []
        monkeypatch.setattr(routes, "KEEP_SILENT_COPY_MS", 300)
        await asyncio.sleep(0.5)
        await until_told(told)
        assert (sizes(route_of(told).brokers), route_of(told).others) == ("broker-a:4 broker-b:4", ())

    play(scene, policy=ALWAYS, name_servers=2)
