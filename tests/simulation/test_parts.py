"""Name server, broker, producer: each by RocketMQ's own rules."""

from collections.abc import Coroutine
from typing import Any

import pytest

from schemas.events import AnyEvent, AssignmentReport, Round
from schemas.facts import Kind
from schemas.identity import MessageQueue
from streaming.collector.probing.group_probe import GroupProbe
from streaming.collector.wire.answers import Connection, QueueData, TopicRouteData
from streaming.simulation.broker import Broker, Channel
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.collector import Collector
from streaming.simulation.fleet import Fleet
from streaming.simulation.message_queue import Commit, MessageLog, WentBack
from streaming.simulation.name_server import NameServer, TopicRoute
from streaming.simulation.process_queue import Progress
from streaming.simulation.virtual_clock import VirtualClock

A, B = "broker-a", "broker-b"


def config(*topics: str, **fields: bool) -> ClientConfig:
    return ClientConfig(tuple((topic, "*") for topic in topics or ("T",)), **fields)


def fleet_with(clients: int = 0, **fields: bool) -> Fleet:
    fleet = Fleet("g", (A, B), 1)
    fleet.put_topic("T", {A: 4, B: 4})
    fleet.producer.write("T", 32)
    for n in range(clients):
        fleet.join(f"h@{n}", config(**fields))
        fleet.run(3)
    return fleet


# --- the clock


def test_coroutines_wait_for_the_clock() -> None:
    """At the same time, and each result stands in its place."""
    clock = VirtualClock(1_000)
    log: list[tuple[int, str]] = []

    async def after(ms: int, name: str) -> str:
        await clock.sleep(ms)
        log.append((clock.now, name))
        return name

    async def play() -> None:
        assert await clock.all([after(30, "b"), after(10, "a"), after(0, "at once")]) == ["b", "a", "at once"]
        slow, quick = clock.begin(_nothing(after(500, "slow"))), clock.begin(_nothing(after(5, "quick")))
        await clock.wait([quick], 100)
        log.append((clock.now, "quick has ended"))
        await clock.wait([slow, quick], 100)
        log.append((clock.now, "waited long enough"))
        await clock.wait([slow])
        log.append((clock.now, "slow has ended"))

    work = clock.begin(play())
    clock.run_until(3_000)
    assert work.is_done
    assert log == [
        (1_000, "at once"), (1_010, "a"), (1_030, "b"), (1_035, "quick"), (1_035, "quick has ended"),
        (1_135, "waited long enough"), (1_530, "slow"), (1_530, "slow has ended"),
    ]  # fmt: skip


async def _nothing(work: Coroutine[Any, Any, object]) -> None:
    await work


# --- the collector


def test_a_simulated_round_is_the_live_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a live round no longer asks, a simulated one does not ask either."""

    def events_of_a_minute() -> set[type]:
        fleet, events = fleet_with(2), list[AnyEvent]()
        Collector(fleet, "c", events.append).start()
        fleet.run(60)
        return set(map(type, events))

    assert AssignmentReport in events_of_a_minute()

    async def nobody(probe: GroupProbe, members: object) -> None: ...

    monkeypatch.setattr(GroupProbe, "_ask_clients", nobody)
    found = events_of_a_minute()
    assert Round in found
    assert AssignmentReport not in found


# --- the name server


def test_a_route_is_one_object_until_it_changes() -> None:
    fleet = fleet_with()
    route = fleet.name_server.route("T")
    fleet.run(60)
    assert fleet.name_server.route("T") is route
    fleet.put_topic("T", {A: 8})
    changed = fleet.name_server.route("T")
    assert changed is not None
    assert [(data.broker_name, data.read_queue_nums) for data in changed.queue_datas] == [(A, 8), (B, 4)]


def test_a_broker_that_unregisters_takes_its_queues_with_it() -> None:
    name_server = NameServer()
    for name in (A, B):
        name_server.register(name, {"T": QueueData(name, 4, 4, 6)})
    name_server.unregister(A)
    route = name_server.route("T")
    assert route is not None
    assert route.broker_names == (B,)
    name_server.unregister(B)
    assert name_server.route("T") is None


# --- the broker


def test_a_heartbeat_notifies_all_only_if_it_brings_something_new() -> None:
    notified: list[str] = []
    fleet, broker = fleet_with(2), Broker(A, lambda client: notified.append(client.client_id), lambda *_: None)
    x, y = (Channel(client, 0, Connection(client.client_id)) for client in fleet.clients)
    broker.heartbeat(x, {"T": 1}, 0)
    broker.heartbeat(y, {"T": 1}, 0)
    assert notified == ["h@0", "h@0", "h@1"]
    broker.heartbeat(x, {"T": 1}, 30_000)
    assert len(notified) == 3
    broker.heartbeat(x, {"U": 1}, 60_000)
    assert len(notified) == 5
    assert not broker.accepts_pull("g", MessageQueue("T", A, 0), 1)


def test_a_pull_is_refused_while_the_table_lacks_its_topic_or_has_an_older_version_of_it() -> None:
    fleet = fleet_with(2)
    broker, queue = Broker(A, lambda _: None, lambda *_: None), MessageQueue("T", A, 0)
    broker.put_topic("T", QueueData(A, 4, 4, 6), 0)
    x, y = (Channel(client, 0, Connection(client.client_id)) for client in fleet.clients)
    assert not broker.accepts_pull("g", queue, 1)
    broker.heartbeat(x, {"T": 1}, 0)
    assert (broker.accepts_pull("g", queue, 1), broker.accepts_pull("g", queue, 2)) == (True, False)
    broker.heartbeat(y, {"T": 2}, 0)
    broker.heartbeat(x, {"T": 1}, 0)  # an older one changes nothing
    assert broker.accepts_pull("g", queue, 2)
    broker.heartbeat(y, {"U": 2}, 0)
    assert not broker.accepts_pull("g", queue, 1)
    broker.heartbeat(x, {"T": 1}, 0)  # what y had sent before went with the topic
    assert (broker.accepts_pull("g", queue, 1), broker.accepts_pull("g", queue, 2)) == (True, False)


def test_a_client_is_dropped_120_s_after_its_last_heartbeat_and_the_scan_may_tell_nobody() -> None:
    notified: list[str] = []
    fleet, broker = fleet_with(2), Broker(A, lambda client: notified.append(client.client_id), lambda *_: None)
    x, y = (Channel(client, 0, Connection(client.client_id)) for client in fleet.clients)
    broker.heartbeat(x, {"T": 1}, 0)
    broker.heartbeat(y, {"T": 1}, 60_000)
    notified.clear()
    broker.scan(120_000, lambda: False)
    assert broker.client_ids("g") == ("h@0", "h@1")
    broker.scan(120_001, lambda: False)
    assert broker.client_ids("g") == ("h@1",)
    assert notified == []


def test_a_lock_is_the_holders_until_60_s_after_it_was_last_renewed() -> None:
    broker, queue = Broker(A, lambda _: None, lambda *_: None), MessageQueue("T", A, 0)
    assert broker.lock("g", queue, "x", 0)
    assert not broker.lock("g", queue, "y", 60_000)
    assert broker.lock("g", queue, "x", 60_000)
    assert not broker.lock("g", queue, "y", 120_000)
    assert broker.lock("g", queue, "y", 120_001)
    broker.unlock("g", queue, "x")
    assert not broker.lock("g", queue, "x", 120_002)
    broker.unlock("g", queue, "y")
    assert broker.lock("g", queue, "x", 120_003)


# --- the producer


@pytest.mark.parametrize(
    ("datas", "expected"),
    [
        ((QueueData(A, 4, 1, 6), QueueData(B, 1, 2, 6)), "a0 b0 b1"),
        ((QueueData(A, 1, 1, 4), QueueData(B, 1, 1, 6)), "b0"),
    ],
    ids=["by write queues", "no permission to write"],
)
def test_where_a_producer_writes(datas: tuple[QueueData, ...], expected: str) -> None:
    route = TopicRoute("T", TopicRouteData(datas))
    assert " ".join(f"{q.broker_name[-1]}{q.queue_id}" for q in route.publish_info()) == expected


def test_what_is_not_written_to_a_broker_that_is_down_goes_to_the_others_until_10_s_after_its_return() -> None:
    fleet = fleet_with()
    fleet.stop_broker(B)
    assert rates(fleet) == {(A, n): 8 for n in range(4)} | {(B, n): 0 for n in range(4)}
    fleet.start_broker(B)
    fleet.run(30)
    assert rates(fleet) == {(name, n): 4 for name in (A, B) for n in range(4)}


def rates(fleet: Fleet) -> dict[tuple[str, int], int]:
    logs = [log for name in (A, B) for log in fleet.brokers[name].logs.values() if log.queue.topic == "T"]
    return {(log.queue.broker_name, log.queue.queue_id): log.rate for log in logs}


# --- messages


def test_what_a_rebalance_repeats_is_counted_by_its_cause() -> None:
    progress = Progress(MessageLog(MessageQueue("T", A, 0), 0))
    progress.take(begun_at=0, before=0, after=100)
    progress.take(begun_at=100, before=90, after=110)  # ten older than what was consumed
    progress.take(begun_at=0, before=100, after=105)  # the first owner reads on
    progress.take(begun_at=0, before=105, after=107)
    assert progress.repeats.ranges == [(90, 100, False), (100, 107, True)]
    assert (progress.repeats.old_offset, progress.repeats.overlap) == (10, 7)
    progress.commit(Commit(1, "x", 105))
    progress.commit(Commit(2, "y", 100))
    assert progress.went_back == [WentBack(2, "y", 100, below=105)]


# --- the client


def test_a_route_that_changes_is_taken_up_by_the_next_poll_and_the_rebalance_after_it() -> None:
    fleet = fleet_with(2)
    fleet.put_topic("T", {A: 8, B: 8})
    fleet.run(1)
    assert sum(owners == () for queue, owners in fleet.assignment().items() if queue.topic == "T") == 8
    fleet.run(50)
    assert all(len(owners) == 1 for queue, owners in fleet.assignment().items() if queue.topic == "T")


def test_a_topic_no_longer_subscribed_to_is_let_go() -> None:
    fleet = fleet_with(1)
    fleet.clients[0].subscribe({"U": "*"})
    fleet.run(21)
    assert all(owners == () for queue, owners in fleet.assignment().items() if queue.topic == "T")


def test_a_client_that_the_asked_broker_does_not_list_lets_go_of_everything() -> None:
    fleet = fleet_with(2)
    for broker in fleet.brokers.values():
        for channel in [c for c in broker.groups["g"].channels if c.client is fleet.clients[1]]:
            broker.unregister(channel)
    fleet.clients[1].rebalance.wakeup()
    fleet.run(0)
    assert not [queue for queue in fleet.clients[1].owned() if queue.topic == "T"]


def test_a_client_that_could_not_tell_of_its_queues_is_refused_until_its_next_heartbeat() -> None:
    fleet = fleet_with(1)
    (client,) = fleet.clients
    client.versions["T"] += 60_000
    for held in client.queues():
        fleet.check_pull(held)
    assert {held.is_refused for held in client.queues() if held.progress.log.queue.topic == "T"} == {True}
    fleet.run(34)
    assert not any(held.is_refused for held in client.queues())


def test_some_of_those_who_join_are_refused_at_first() -> None:
    longest = []
    for seed in range(40):
        fleet = Fleet("g", (A, B), seed)
        fleet.put_topic("T", {A: 4, B: 4})
        fleet.producer.write("T", 32)
        for n in range(3):
            fleet.join(f"h@{n}", config())
            fleet.run(3)
        fleet.run(40)
        stood = [w.lasted_until(fleet.now) - w.from_ts for w in fleet.truth.windows if w.kind is Kind.STALLED]
        longest.append(max(stood, default=0))
    assert 6 <= sum(ms > 0 for ms in longest) <= 20  # measured: 16 of about 50 groups, for up to 23 s
    assert max(longest) <= 33_000


def test_dead_connections_stay_listed_until_they_expire() -> None:
    fleet = fleet_with(2)
    fleet.clients[0].lose_connections()
    fleet.run(1)
    assert sorted(fleet.brokers[A].client_ids("g")) == ["h@0", "h@0", "h@1"]
    fleet.run(135)
    assert sorted(fleet.brokers[A].client_ids("g")) == ["h@0", "h@1"]


def test_a_killed_orderly_client_keeps_its_locks_for_60_s() -> None:
    fleet = fleet_with(2, orderly=True)
    fleet.run(30)
    fleet.kill(fleet.clients[0])
    fleet.run(35)
    lost = [queue for queue, owners in fleet.assignment().items() if not owners and queue.topic == "T"]
    assert len(lost) == 4
    fleet.run(30)
    assert all(fleet.assignment().values())


def test_broadcasting_clients_own_every_queue_and_keep_their_offsets_to_themselves() -> None:
    fleet = fleet_with(2, broadcasting=True)
    fleet.run(21)
    assert {len(owners) for queue, owners in fleet.assignment().items() if queue.topic == "T"} == {2}
    assert all(progress.committed == -1 for progress in fleet.progresses())


def test_stuck_code_fetches_a_thousand_messages_and_no_more() -> None:
    fleet = fleet_with(1)
    fleet.run(10)
    fleet.clients[0].set_speed(0)
    fleet.run(400)
    fleet.progresses()
    assert {held.cached_msg_count for held in fleet.clients[0].queues() if held.progress.log.queue.topic == "T"} == {
        1000
    }


def test_a_client_whose_pull_service_has_died_still_consumes_what_it_has_in_hand() -> None:
    fleet = fleet_with(1)
    fleet.run(10)
    (client,) = fleet.clients
    client.set_speed(0)
    fleet.run(20)
    client.stop_pull_service()
    client.set_speed(client.config.speed)
    fleet.run(5)
    fleet.progresses()
    queues = [held for held in client.queues() if held.progress.log.queue.topic == "T"]
    assert {held.cached_msg_count for held in queues} == {0}
    assert all(held.pulled < held.progress.log.max_offset(fleet.now) for held in queues)


# --- the truth


def test_what_a_hanging_listener_holds_is_not_consumed_though_nothing_more_is_written() -> None:
    fleet = fleet_with(1)
    fleet.run(60)
    (client,) = fleet.clients
    client.set_speed(0)
    fleet.run(10)
    fleet.producer.write("T", 0)
    fleet.run(10)
    slow = [window for window in fleet.truth.windows if window.kind is Kind.SLOW_CONSUMER]
    assert len(slow) == 8
    assert all(window.to_ts is None for window in slow)
    client.set_speed(1_000)
    assert all(window.to_ts == fleet.now for window in slow)
