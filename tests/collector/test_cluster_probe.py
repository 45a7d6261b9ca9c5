"""Rounds against a cluster on loopback: what is told, and what a broker that misbehaves does to them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import pytest

from schemas.events import (
    AnyEvent,
    AssignmentReport,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    Round,
    TopicRoute,
)
from streaming.collector.probing import (
    broker_directory,
    client_schedule,
    group_probe,
    heartbeat_schedule,
    live_transport,
    new_queues,
)
from streaming.collector.probing.cluster_probe import ClusterProbe, RoundReport
from streaming.collector.probing.policy import DEFAULT_POLICY, Policy
from streaming.collector.wire.acl import Credentials
from streaming.collector.wire.answers import HeartbeatsAnswer, Line
from streaming.collector.wire.client import RemotingClient
from streaming.collector.wire.clock import Clock
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.networks import Network
from streaming.wall_clock import now_ms
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, FakeNode, two_clients

E = TypeVar("E")
# A busy machine must not be taken for a silent one.
QUICK = replace(DEFAULT_POLICY, timeout_ms=500, interval_ms=300, spreads=False, confirms=False)


class Told:
    """Everything that a probe told and recorded, and the probe itself."""

    def __init__(
        self,
        fake: FakeCluster,
        policy: Policy = QUICK,
        credentials: Credentials | None = None,
        clock: Clock | None = None,
        allowed: Sequence[Network] = (),
        may_ask: Callable[[], bool] = lambda: True,
        names_proxies: bool = True,
    ) -> None:
        self.fake = fake
        self.events: list[AnyEvent] = []
        self.lines: list[Line] = []
        client = RemotingClient(
            policy.timeout_ms / 1000, credentials=credentials, clock=clock, allowed=allowed, may_ask=may_ask
        )
        proxies = [proxy.address for proxy in fake.proxies if names_proxies]
        self.probe = ClusterProbe(
            "prod", policy, client, fake.namesrv, "collector 1", self.events.extend, self.lines.append, proxies=proxies
        )

    async def round(self) -> RoundReport:
        await asyncio.sleep(0.002)  # real rounds are seconds apart, and times are whole milliseconds
        self.events.clear()
        return await self.probe.round()

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def marker(self, group: str = "g") -> Round:
        return next(event for event in self.of(Round) if event.group == group)


Scene = Callable[[Told], Awaitable[None]]


def play(
    scene: Scene, fake: FakeCluster | None = None, policy: Policy = QUICK, name_servers: int = 1, **client: Any
) -> None:
    async def run() -> None:
        async with (fake or two_clients()).running(name_servers) as running:
            told = Told(running, policy, **client)
            try:
                await scene(told)
            finally:
                await told.probe.close()

    asyncio.run(run())


def test_of_an_id_that_is_listed_twice_it_tells_which_connections_are_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker is asked once, for all groups; a dead connection sends no heartbeat."""
    monkeypatch.setattr(heartbeat_schedule, "HEARTBEAT_MS", 1)
    monkeypatch.setattr(live_transport, "COUNTS_MS", 1)
    members = [FakeClient("c1", heartbeat_ts=5), FakeClient("c1", heartbeat_ts=5), FakeClient("c2")]

    async def scene(told: Told) -> None:
        await told.round()
        assert {h.alive for h in told.of(Heartbeat)} == {None}
        members[0].heartbeat_ts = 9
        await asyncio.sleep(0.01)
        await told.round()
        assert [(h.broker_name, h.alive) for h in told.of(Heartbeat)] == [("broker-a", 1)]
        members[1].heartbeat_ts = 9
        await asyncio.sleep(0.01)
        await told.round()
        assert [(h.broker_name, h.alive) for h in told.of(Heartbeat)] == [("broker-a", 2)]
        recorded = [line for line in told.lines if isinstance(line, HeartbeatsAnswer)]
        assert [{one.client_id for one in line.channels} for line in recorded] == [{"c1"}] * 3

    play(scene, FakeCluster(groups={"g": FakeGroup(members)}))


def test_first_round_tells_all_there_is() -> None:
    async def scene(told: Told) -> None:
        report = await told.round()
        assert (report.groups, report.silent) == (1, {})
        marker = told.marker()
        assert [(b.broker_name, b.answered, b.client_ids) for b in marker.brokers] == [
            ("broker-a", True, ("c1", "c2")),
            ("broker-b", True, ("c1", "c2")),
        ]
        assert (marker.consume_enable, marker.orderly, marker.not_asked) == (True, False, ())
        assert set(marker.asked) == {"c1", "c2"}
        owned = {r.client_id: [(o.topic, o.broker_name) for o in r.owned] for r in told.of(AssignmentReport)}
        assert owned == {"c1": [("T", "broker-a")], "c2": [("T", "broker-b")]}
        assert {(h.broker_name, h.client_id) for h in told.of(Heartbeat)} == {
            (broker, client) for broker in ("broker-a", "broker-b") for client in ("c1", "c2")
        }
        assert {route.topic for route in told.of(TopicRoute)} == {"T", "%RETRY%g"}
        offsets = {(p.broker_name, q.queue_id): q for p in told.of(ConsumeProgress) for q in p.queues}
        first = offsets["broker-a", 0]
        assert (first.broker_offset, first.consumer_offset, first.pull_offset) == (9, 7, 8)
        assert told.events[-1] is marker

    play(scene)


def test_later_rounds_tell_only_what_is_new() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        await told.round()
        assert told.events == [told.marker()]
        told.fake.groups["g"].members.append(FakeClient("c3"))
        await told.round()
        assert {(c.client_id, c.change, c.reason) for c in told.of(ConsumerChange)} == {("c3", "appeared", None)}

    play(scene)


@pytest.mark.parametrize("manner", ["hang", "garbage", "close", "stopped"])
@pytest.mark.slow("time-outs pass")
def test_broken_broker_stops_neither_the_others_nor_the_round(manner: str) -> None:
    async def scene(told: Told) -> None:
        await told.round()
        broken = told.fake.nodes["broker-b"]
        if manner == "stopped":
            await broken.stop()
        broken.manner = manner
        for _ in range(2):
            report = await told.round()
            a, b = told.marker().brokers
            assert (a.broker_name, a.answered, len(a.client_ids)) == ("broker-a", True, 2)
            assert (b.broker_name, b.answered) == ("broker-b", False)
            assert b.error
            assert "broker-b" in report.silent
        broken.manner = "answer"
        if manner == "stopped":
            await broken.start()
        report = await told.round()
        report = await told.round()  # its new address is learnt beside the first
        assert told.marker().brokers[1].answered
        assert "broker-b" not in report.silent

    play(scene)


@pytest.mark.slow("time-outs pass")
@pytest.mark.parametrize("manner", ["hang", "garbage", "close"])
def test_rounds_go_on_without_name_servers(manner: str) -> None:
    async def scene(told: Told) -> None:
        await told.round()
        told.fake.name_servers[0].manner = manner
        await told.round()
        assert all(broker.answered for broker in told.marker().brokers)
        while "the name servers" not in (await told.round()).silent:
            pass

    play(scene)


def test_no_round_waits_for_a_name_server_that_hangs() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        told.fake.name_servers[0].manner = "hang"
        await told.round()
        assert told.probe._learning is not None
        assert not told.probe._learning.done()

    play(scene, policy=replace(QUICK, timeout_ms=60_000))


def test_without_any_name_server_a_round_is_empty_and_says_why() -> None:
    async def scene(told: Told) -> None:
        await told.fake.name_servers[0].stop()
        report = await told.round()
        assert (report.groups, list(report.silent)) == (0, ["the name servers"])

    play(scene)


def test_broker_that_moved_keeps_its_name() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        await told.fake.nodes["broker-b"].restart()
        await told.round()
        await told.round()
        assert [broker.broker_name for broker in told.marker().brokers] == ["broker-a", "broker-b"]
        assert told.of(ConsumerChange) == []

    play(scene)


def test_replica_stands_in_for_a_master_that_is_away() -> None:
    async def scene(told: Told) -> None:
        told.fake.nodes["broker-b"].has_master = False
        await told.round()
        assert all(broker.answered for broker in told.marker().brokers)

    play(scene)


def test_broker_that_no_route_names_any_more_is_asked_on() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        told.fake.nodes["broker-b"].is_registered = False
        told.probe.shared.routes.schedule.choose((), 0)  # all routes are due again
        for _ in range(2):
            await told.round()
        route = next(route for route in told.of(TopicRoute) if route.topic == "T") if told.of(TopicRoute) else None
        assert route is None or [queues.broker_name for queues in route.brokers] == ["broker-a"]
        assert [broker.broker_name for broker in told.marker().brokers] == ["broker-a", "broker-b"]

    play(scene)


def test_diverging_lists_and_double_ids_are_told_as_they_are() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert [broker.client_ids for broker in told.marker().brokers] == [("c1", "c1"), ("c1",)]

    client = FakeClient("c1")
    play(scene, FakeCluster(groups={"g": FakeGroup([client], listed_by={"broker-a": [client, client]})}))


def test_refusal_is_never_taken_for_an_empty_group() -> None:
    """Code 1 is what a list says of an unknown group, and what any refused request gets."""

    async def scene(told: Told) -> None:
        await told.round()
        told.fake.required_key = "another"
        report = await told.round()
        assert [broker.answered for broker in told.marker().brokers] == [False, False]
        assert "not confirm" in str(told.marker().brokers[0].error)
        assert set(report.silent) >= {"broker-a", "broker-b"}
        assert told.of(ConsumerChange) == []

    play(scene)


def test_connections_say_who_is_listed() -> None:
    """By as many entries: here one id has two connections."""

    async def scene(told: Told) -> None:
        await told.round()
        assert [broker.client_ids for broker in told.marker().brokers] == [("c1", "c1", "c2")] * 2
        lists = [node.requests[38] for node in told.fake.nodes.values()]
        await told.round()
        assert [broker.client_ids for broker in told.marker().brokers] == [("c1", "c1", "c2")] * 2
        assert [node.requests[38] for node in told.fake.nodes.values()] == lists

    members = [FakeClient("c2"), FakeClient("c1"), FakeClient("c1")]
    play(scene, FakeCluster(groups={"g": FakeGroup(members)}), replace(QUICK, first_ask_ms=60_000))


@pytest.mark.parametrize("answer", [(16, b"no permission"), (0, b"{}"), (0, b"not JSON")])
def test_list_is_asked_for_where_connections_do_not_give_it(answer: tuple[int, bytes]) -> None:
    async def scene(told: Told) -> None:
        told.fake._203 = lambda *_: answer  # type: ignore[method-assign]
        await told.round()
        assert [(broker.answered, broker.client_ids) for broker in told.marker().brokers] == [(True, ("c1", "c2"))] * 2

    play(scene)


def test_list_is_known_though_requests_for_connections_hang() -> None:
    """A broker has other threads for lists: those of administration may all wait for clients."""

    async def hang(*_: object) -> tuple[int, bytes]:
        await asyncio.sleep(60)
        return 0, b""

    async def scene(told: Told) -> None:
        await told.round()
        answering, told.fake._203 = told.fake._203, hang  # type: ignore[method-assign, assignment]
        await told.round()
        assert [broker.answered for broker in told.marker().brokers] == [False, False]
        assert str(told.marker().brokers[0].error).startswith("no answer within")
        for _ in range(3):
            await told.round()
            assert [broker.client_ids for broker in told.marker().brokers] == [("c1", "c2")] * 2
        told.fake._203 = answering  # type: ignore[method-assign]
        for _ in range(3):
            await told.round()
        lists = [node.requests[38] for node in told.fake.nodes.values()]
        await told.round()
        assert [node.requests[38] for node in told.fake.nodes.values()] == lists

    play(scene)


def test_list_of_one_group_is_known_though_its_requests_for_connections_hang_and_those_of_others_do_not() -> None:
    async def scene(told: Told) -> None:
        answering = told.fake._203

        async def hang_for_g(node: FakeNode, fields: dict[str, str]) -> tuple[int, bytes]:
            if fields["consumerGroup"] == "g":
                await asyncio.sleep(60)
            return answering(node, fields)

        await told.round()
        told.fake._203 = hang_for_g  # type: ignore[method-assign, assignment]
        node, lists = told.fake.nodes["broker-a"], []
        for _ in range(3):
            told.probe._client.begin_round()
            answers = [(await told.probe._transport.members("broker-a", group))[0] for group in ("h", "i", "g")]
            assert [answer.ids for answer in answers[:2]] == [("c1", "c2")] * 2
            lists.append((answers[2].ids, node.requests[38]))
        (none, before), *others = lists
        assert none is None
        assert others == [(("c1", "c2"), before + 1), (("c1", "c2"), before + 2)]

    fake = two_clients()
    fake.groups |= dict.fromkeys(("h", "i"), fake.groups["g"])
    play(scene, fake)


def test_group_whose_members_have_all_gone_is_told_as_empty() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        told.fake.groups["g"].members.clear()
        await told.round()
        assert [(broker.answered, broker.client_ids) for broker in told.marker().brokers] == [(True, ()), (True, ())]

    play(scene)


def test_dead_system_and_excluded_groups_are_not_told() -> None:
    async def scene(told: Told) -> None:
        report = await told.round()
        assert {marker.group for marker in told.of(Round)} == {"g", "MQ_INST_1%g"}
        assert report.without_members == 1
        before = told.fake.nodes["broker-a"].requests[203]
        await told.round()
        assert told.fake.nodes["broker-a"].requests[203] == before + 2

    alive = FakeGroup([FakeClient("c1")])
    groups = dict.fromkeys(("g", "MQ_INST_1%g", "test-1", "TOOLS_CONSUMER", "CID_RMQ_SYS_TRANS"), alive)
    fake = FakeCluster(groups={**groups, "dead": FakeGroup()})
    play(scene, fake, replace(DEFAULT_POLICY, timeout_ms=500, spreads=False, exclude=("test-*",)))


@pytest.mark.slow("time-outs pass")
def test_paused_client_holds_nobody_up_and_is_backed_off_from() -> None:
    async def scene(told: Told) -> None:
        c1 = told.fake.groups["g"].members[0]
        c1.broken, c1.delay_s = 207, 3
        await told.round()
        assert {r.client_id for r in told.of(AssignmentReport)} == {"c2"}
        marker = told.marker()
        await told.round()
        assert {n.client_id: n.reason for n in told.marker().not_asked} == {
            "c1": "the last request is still on its way"
        }
        while not any(r.client_id == "c1" for r in told.of(AssignmentReport)):
            await asyncio.sleep(0.1)
        late = next(r for r in told.of(AssignmentReport) if r.client_id == "c1")
        assert (late.answered, late.reason, late.round) == (False, "timeout", marker.round)
        await told.round()
        assert {n.client_id: n.reason for n in told.marker().not_asked} == {
            "c1": "backing off after no answer within 10 s"
        }

    play(scene)


def test_client_in_many_groups_is_asked_for_one_at_a_time() -> None:
    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
        assert told.fake.most_at_work == {"shared": 1}

    shared = FakeClient("shared", delay_s=0.02)
    play(scene, FakeCluster(groups={f"g{n}": FakeGroup([shared]) for n in range(5)}))


def test_without_running_info_nobody_is_asked_and_the_marker_says_why() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert told.of(AssignmentReport) == []
        assert {n.reason for n in told.marker().not_asked} == {"running info is switched off"}
        assert told.fake.asked_of_clients.total() == 0
        assert {route.topic for route in told.of(TopicRoute)} == {"T", "%RETRY%g"}
        assert told.of(ConsumeProgress)

    play(scene, policy=replace(QUICK, running_info_ms=0))


@pytest.mark.parametrize(("answered", "reason"), [((0, b"garbage"), "unreadable answer"), ((16, b""), "code 16")])
def test_broker_that_cannot_fetch_a_running_info_says_nothing_of_the_client(
    answered: tuple[int, bytes], reason: str
) -> None:
    async def scene(told: Told) -> None:
        answer = told.fake.answer

        async def failing(node: FakeNode, code: int, fields: dict[str, str]) -> tuple[int, bytes]:
            return answered if code == 307 else await answer(node, code, fields)

        told.fake.answer = failing  # type: ignore[method-assign]
        await told.round()
        assert told.of(AssignmentReport) == []
        reasons = {n.reason.split(": ")[1] for n in told.marker().not_asked}
        assert (reasons, told.marker().asked) == ({reason}, ())

    play(scene)


def test_groups_of_a_broker_that_is_silent_are_asked_for_again_and_no_others() -> None:
    async def scene(told: Told) -> None:
        a, b = (told.fake.nodes[name] for name in ("broker-a", "broker-b"))
        b.manner = "close"
        for _ in range(3):
            report = await told.round()
        assert "broker-b for its groups" in report.silent
        assert (a.requests[201], b.requests[201]) == (1, 3)
        b.manner = "answer"
        for _ in range(2):
            report = await told.round()
        assert report.silent == {}
        assert (a.requests[201], b.requests[201]) == (1, 4)

    play(scene)


def test_topic_without_any_committed_offset_is_asked_for_by_name() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert {(p.topic, p.broker_name) for p in told.of(ConsumeProgress)} == {("T", "broker-a"), ("T", "broker-b")}

    play(scene, FakeCluster(groups={"g": FakeGroup([FakeClient("c1")], committed=(), has_pulled=False)}))


def test_offsets_of_a_group_that_lost_its_members_are_still_told() -> None:
    """Whether messages wait for it decides whether anybody is called."""

    async def scene(told: Told) -> None:
        await told.round()
        told.fake.groups["g"].members = []
        told.probe.shared.offsets.forget_group("g")  # or they would be asked again in 20 s only
        await told.round()
        assert not any(broker.client_ids for broker in told.marker().brokers)
        assert {progress.broker_name for progress in told.of(ConsumeProgress)} == {"broker-a", "broker-b"}

    play(scene)


def test_queues_that_consume_stats_do_not_name_are_asked_one_by_one() -> None:
    """Of a topic with fewer read than write queues, only a broker's memory is asked: 14 and 30."""
    fake = two_clients()
    fake.queues["T"], fake.write_queues["T"] = 2, 4
    fake.offsets = {("T", "broker-a", 2): (6_044, 0, 0), ("T", "broker-b", 3): (100, 60, 60)}
    fake.unknown_offsets = {("T", "broker-a", 3)}

    async def scene(told: Told) -> None:
        await told.round()
        found = {
            (p.broker_name, q.queue_id): (q.broker_offset, q.consumer_offset)
            for p in told.of(ConsumeProgress)
            for q in p.queues
            if p.topic == "T" and q.queue_id > 1
        }
        assert found == {
            ("broker-a", 2): (6_044, 0),
            ("broker-a", 3): (0, -1),
            ("broker-b", 2): (0, 0),
            ("broker-b", 3): (100, 60),
        }
        await told.round()
        for node in fake.nodes.values():
            assert (node.requests[14], node.requests[30]) == (2, 2)  # at the offsets' interval

    play(scene, fake)


def test_queues_that_left_the_route_are_asked_one_by_one_too() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert all(node.requests[14] == 0 for node in told.fake.nodes.values())
        told.fake.queues["T"] = 3
        told.fake.offsets["T", "broker-a", 3] = (50, 20, 20)
        told.probe.shared.offsets.forget_group("g")  # or they would be asked again in 20 s only
        told.probe.shared.routes.schedule.answered("T", 0, is_known=False, asked_ts=0)  # or its route in 10 s only
        await told.round()
        told.probe.shared.offsets.forget_group("g")
        await told.round()
        left = [
            q for p in told.of(ConsumeProgress) for q in p.queues if q.queue_id == 3 and p.broker_name == "broker-a"
        ]
        assert [(q.broker_offset, q.consumer_offset) for q in left] == [(50, 20)]
        assert {topic: lag.messages for _, topic, lag in told.probe.shared.lags.by_topic()}["T"] >= 30

    play(scene)


# Reports count at once, clients are asked in every round, and routes are not due again.
FOLLOWING = replace(
    QUICK,
    running_info_ms=1,
    route_ms=600_000,
    timing=msgspec.structs.replace(DEFAULT_TIMING, grace_membership_ms=0, grace_route_ms=0),
)


def two_groups() -> FakeCluster:
    """All queues of T are those of one client in each."""
    owned = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]
    return FakeCluster(groups={name: FakeGroup([FakeClient(f"c-{name}", list(owned))]) for name in "gh"})


def routes_told(told: Told) -> dict[str, int]:
    """How many queues of T a broker has, by the group that is told so."""
    return {route.group: route.brokers[0].read_queue_nums for route in told.of(TopicRoute) if route.topic == "T"}


def routes_asked(told: Told) -> int:
    return told.fake.name_servers[0].requests[105]


def test_a_route_is_read_again_as_soon_as_a_client_has_let_queues_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is asked whether it confirms that, and for all groups at once."""
    monkeypatch.setattr(client_schedule, "CLIENT_PAUSE_MS", 0)

    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
        asked = routes_asked(told)
        told.fake.queues["T"] = 2
        client = told.fake.groups["g"].members[0]
        client.owned = [queue for queue in client.owned if queue[2] < 2]
        await told.round()
        assert [len(r.owned) for r in told.of(AssignmentReport) if r.client_id == "c-g"] == [2]
        assert (routes_told(told), routes_asked(told)) == ({}, asked)
        await told.round()
        assert (routes_told(told), routes_asked(told)) == ({"g": 2, "h": 2}, asked + 1)

    play(scene, two_groups(), FOLLOWING)


def test_of_a_fault_that_lasts_the_route_is_read_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_schedule, "CLIENT_PAUSE_MS", 0)

    async def scene(told: Told) -> None:
        for _ in range(3):
            await told.round()
        asked = routes_asked(told)
        for name in "gh":
            told.fake.groups[name].members[0].owned.pop()
        for _ in range(4):
            await told.round()
        assert routes_asked(told) == asked + 1
        told.fake.groups["g"].members[0].owned.pop()
        for _ in range(3):
            await told.round()
        assert routes_asked(told) == asked + 2

    play(scene, two_groups(), FOLLOWING)


def test_clients_of_a_group_with_new_queues_are_let_be() -> None:
    """A client with one processor would drop out of its group over the answer."""

    async def scene(told: Told) -> None:
        await told.round()
        assert told.of(AssignmentReport) == []
        assert [(one.client_id, one.reason) for one in told.marker().not_asked] == [("c1", new_queues.REASON)]
        told.fake.groups["g"].has_pulled = True
        told.probe.shared.offsets.forget_group("g")  # or they would be asked again in 20 s only
        await told.round()
        assert [report.client_id for report in told.of(AssignmentReport)] == ["c1"]

    play(scene, FakeCluster(groups={"g": FakeGroup([FakeClient("c1")], has_pulled=False)}))


def test_broadcasting_group_is_asked_for_reports_alone() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert told.of(ConsumeProgress) == []
        assert [report.client_id for report in told.of(AssignmentReport)] == ["c1"]
        assert told.of(Heartbeat)[0].message_model == "BROADCASTING"

    play(
        scene, FakeCluster(groups={"g": FakeGroup([FakeClient("c1")], message_model="BROADCASTING", has_pulled=False)})
    )


def test_topic_on_a_broker_that_does_not_know_the_group_is_covered_too() -> None:
    async def scene(told: Told) -> None:
        told.probe.groups.know("broker-a", ["g"])
        told.probe.groups.know("broker-b", [])
        await told.round()
        assert [broker.broker_name for broker in told.marker().brokers] == ["broker-a", "broker-b"]

    play(scene)


def test_settings_of_the_group_reach_the_marker() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert (told.marker().consume_enable, told.marker().orderly) == (False, True)

    settings = {"consumeEnable": False, "consumeMessageOrderly": True}
    play(scene, FakeCluster(groups={"g": FakeGroup([FakeClient("c1")], settings=settings)}))


@pytest.mark.parametrize(
    "how",
    [
        {"settings": {"attributes": {"lite.bind.topic": "T", "priority.factor": "1"}}},
        {"message_model": "LITE_SELECTIVE"},
    ],
)
def test_a_group_that_consumes_lite_topics_is_asked_for_no_offsets_and_no_polls(how: dict[str, Any]) -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert told.marker().lite
        assert not told.marker("h").lite
        assert {event.group for event in told.of(ConsumeProgress)} == {"h"}
        assert {group for group, _, _ in told.probe.shared.lags.by_topic()} == {"h"}

    groups = {"g": FakeGroup([FakeClient("host-1@11@0@hoi3xrg9u3")], **how), "h": FakeGroup([FakeClient("c1")])}
    play(scene, FakeCluster(groups=groups))


def test_a_static_topic_has_no_lag() -> None:
    """Its offsets are those of the queues that it is mapped to now, or was before."""

    async def scene(told: Told) -> None:
        await told.round()
        await told.round()
        assert {topic for _, topic, _ in told.probe.shared.lags.by_topic()} == {"%RETRY%g"}

    fake = FakeCluster(groups={"g": FakeGroup([FakeClient("c1")])}, static={"T"})
    play(scene, fake)


def test_topics_that_brokers_are_set_to_pop_reach_the_marker() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        assert told.marker().pop_topics == ("T",)
        assert told.marker("h").pop_topics == ()

    groups = {name: FakeGroup([FakeClient(f"c{name}")]) for name in "gh"}
    play(scene, FakeCluster(groups=groups, popping={"T": ["g"]}))


@pytest.mark.parametrize(("without", "in_part"), [((), ()), (("broker-b",), ("T",)), (("broker-c",), ())])
def test_a_topic_that_only_some_of_its_brokers_pop_is_named(without: tuple[str, ...], in_part: tuple[str, ...]) -> None:
    """broker-c does not host it."""

    async def scene(told: Told) -> None:
        told.fake.name_servers[0].holds["T"] = {"broker-a": 4, "broker-b": 4}
        await told.round()
        told.probe.directory.record_settings("g")  # by then the route is known
        await told.round()
        assert (told.marker().pop_topics, told.marker().popped_in_part) == (("T",), in_part)

    names = ("broker-a", "broker-b", "broker-c")
    groups = {"g": FakeGroup([FakeClient("c1")])}
    fake = FakeCluster(names, groups=groups, popping={"T": ["g"]}, without_modes=set(without))
    play(scene, fake)


def test_members_that_overwrite_each_others_subscriptions_are_told_without_asking_them() -> None:
    async def scene(told: Told) -> None:
        for topics in (("T",), ("U",), ("U",)):
            told.fake.groups["g"].subscription_table = topics
            await told.round()
            assert told.marker().rival_subscriptions == ()
        told.fake.groups["g"].subscription_table = ("T",)
        await told.round()
        assert told.marker().rival_subscriptions == (("T",), ("U",))
        told.fake.groups["g"].members.append(FakeClient("c3"))
        await told.round()
        assert told.marker().rival_subscriptions == ()

    play(scene, policy=replace(QUICK, running_info_ms=0))


def test_broker_that_has_been_gone_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(told: Told) -> None:
        await told.round()
        told.fake.nodes["broker-b"].is_registered = False
        monkeypatch.setattr(broker_directory, "KEEP_WATCHING_MS", -1)
        monkeypatch.setattr(group_probe, "KEEP_WATCHING_MS", -1)
        told.probe.shared.routes.schedule.choose((), 0)  # all routes are due again
        for _ in range(3):
            await told.round()
            await asyncio.sleep(0.02)
        assert told.probe.groups.brokers_of("g") <= {"broker-a"}
        assert "broker-b" not in {broker.broker_name for broker in told.marker().brokers}

    play(scene, policy=replace(QUICK, rests_when_empty=False))


@pytest.mark.parametrize(("set_by_s", "is_in_full"), [(-3600, True), (-30, False), (3600, False)])
def test_what_the_job_has_refused_is_sent_in_full_once_more(set_by_s: int, is_in_full: bool) -> None:
    """It refuses events whose times are more than five minutes ahead: the clock was wrong until it was set back."""
    wall = SetClock()

    async def scene(told: Told) -> None:
        for _ in range(4):
            await told.round()
        wall.ahead_ms = set_by_s * 1000
        await told.round()
        assert any(isinstance(event, TopicRoute) for event in told.events) is is_in_full

    play(scene, clock=wall.clock)


class SetClock:
    """A wall clock that can be set, and a clock beside it that only goes on."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self.clock = Clock(lambda: now_ms() + self.ahead_ms)


@pytest.mark.slow("time-outs pass")
@pytest.mark.parametrize("set_by_s", [-3600, -30, 3600])
def test_a_clock_that_is_set_stops_nothing(set_by_s: int, caplog: pytest.LogCaptureFixture) -> None:
    """Rounds, offsets, reports, routes and heartbeats go on, and their times are those of the clock as it is now."""
    wall = SetClock()

    async def scene(told: Told) -> None:
        await told.round()
        before = told.marker()
        wall.ahead_ms = set_by_s * 1000
        told.fake.groups["g"].members.append(FakeClient("c3"))
        await told.round()
        first = told.marker()
        assert first.ts == pytest.approx(before.ts + set_by_s * 1000, abs=5_000)
        assert first.round <= first.ts
        assert first.brokers[0].listed_since == first.ts
        assert {event.ts // 100_000 for event in told.events} <= {first.ts // 100_000, first.ts // 100_000 - 1}
        said: set[type] = set()
        while not {AssignmentReport, ConsumeProgress, Round} <= said:
            await asyncio.sleep(0.1)
            await told.round()
            said |= set(map(type, told.events))
            assert first.ts < told.marker().ts < first.ts + 20_000

    play(scene, policy=replace(QUICK, running_info_ms=300, offsets_ms=300, idle_offsets_ms=300), clock=wall.clock)
    where = "forward" if set_by_s > 0 else "back"
    assert [line for line in caplog.messages if f"the clock was set {where} by" in line]
