"""Name server, broker, producer: each by RocketMQ's own rules."""

import pytest

from schemas.facts import Kind
from schemas.identity import MessageQueue
from streaming.simulation.broker import Broker, Channel
from streaming.simulation.consumer import Consumer, Manner
from streaming.simulation.fleet import Fleet
from streaming.simulation.message_queue import Commit, MessageLog, Progress, WentBack
from streaming.simulation.name_server import BrokerData, NameServer, QueueData, TopicRouteData
from streaming.simulation.producer import LatencyFaultTolerance, Selection, publish_info

A, B = "broker-a", "broker-b"


def manner(*topics: str, **fields: bool) -> Manner:
    return Manner(tuple((topic, "*") for topic in topics or ("T",)), **fields)


def fleet_with(clients: int = 0, **fields: bool) -> Fleet:
    fleet = Fleet("g", (A, B), 1)
    fleet.put_topic("T", {A: 4, B: 4})
    fleet.producer.write("T", 32)
    for n in range(clients):
        fleet.join(f"h@{n}", manner(**fields))
        fleet.run(3)
    return fleet


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


def test_a_silent_broker_is_dropped_after_120_s_and_its_queues_go_with_it() -> None:
    servers = NameServer()
    servers.register(A, 0, {"T": QueueData(A, 4, 4)}, 0)
    servers.register(B, 0, {"T": QueueData(B, 4, 4)}, 60_000)
    assert servers.scan(120_000) == []
    assert servers.scan(120_001) == [A]
    route = servers.route("T")
    assert route is not None
    assert route.broker_names == (B,)
    servers.unregister(B, 0)
    assert servers.route("T") is None


def test_without_its_master_a_broker_stays_in_the_route_and_cannot_be_written_to() -> None:
    servers = NameServer()
    for broker_id in (0, 1):
        servers.register(A, broker_id, {"T": QueueData(A, 2, 2)}, 0)
    servers.unregister(A, 0)
    route = servers.route("T")
    assert route is not None
    assert len(route.subscribe_info) == 2
    assert publish_info(route) == ()


# --- the broker


class Ears:
    """Who was notified."""

    def __init__(self) -> None:
        self.notified: list[str] = []

    def notify(self, client: Consumer) -> None:
        self.notified.append(client.client_id)


def test_a_heartbeat_notifies_all_only_if_it_brings_something_new() -> None:
    ears, fleet = Ears(), fleet_with(2)
    broker = Broker(A, ears.notify, lambda *_: None)
    x, y = (Channel(client, 0, "h:1") for client in fleet.clients)
    broker.heartbeat(x, {"T": 1}, 0)
    broker.heartbeat(y, {"T": 1}, 0)
    assert ears.notified == ["h@0", "h@0", "h@1"]
    broker.heartbeat(x, {"T": 1}, 30_000)
    assert len(ears.notified) == 3
    broker.heartbeat(x, {"U": 1}, 60_000)
    assert len(ears.notified) == 5
    assert not broker.serves("g", MessageQueue("T", A, 0), 1)


def test_a_pull_is_refused_while_the_table_lacks_its_topic_or_has_an_older_version_of_it() -> None:
    fleet = fleet_with(2)
    broker, queue = Broker(A, lambda _: None, lambda *_: None), MessageQueue("T", A, 0)
    broker.put_topic("T", QueueData(A, 4, 4), 0)
    x, y = (Channel(client, 0, "h:1") for client in fleet.clients)
    assert not broker.serves("g", queue, 1)
    broker.heartbeat(x, {"T": 1}, 0)
    assert (broker.serves("g", queue, 1), broker.serves("g", queue, 2)) == (True, False)
    broker.heartbeat(y, {"T": 2}, 0)
    broker.heartbeat(x, {"T": 1}, 0)  # an older one changes nothing
    assert broker.serves("g", queue, 2)
    broker.heartbeat(y, {"U": 2}, 0)
    assert not broker.serves("g", queue, 1)
    broker.heartbeat(x, {"T": 1}, 0)  # what y had sent before went with the topic
    assert (broker.serves("g", queue, 1), broker.serves("g", queue, 2)) == (True, False)


def test_a_client_is_dropped_120_s_after_its_last_heartbeat_and_the_scan_may_tell_nobody() -> None:
    ears, fleet = Ears(), fleet_with(2)
    broker = Broker(A, ears.notify, lambda *_: None)
    x, y = (Channel(client, 0, "h:1") for client in fleet.clients)
    broker.heartbeat(x, {"T": 1}, 0)
    broker.heartbeat(y, {"T": 1}, 60_000)
    ears.notified.clear()
    broker.scan(120_000, lambda: False)
    assert broker.client_ids("g") == ("h@0", "h@1")
    broker.scan(120_001, lambda: False)
    assert broker.client_ids("g") == ("h@1",)
    assert ears.notified == []


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


def route(*datas: QueueData, masters: str = A + B, conf: str | None = None) -> TopicRouteData:
    brokers = tuple(BrokerData(d.broker_name, (0,) if d.broker_name in masters else (1,)) for d in datas)
    return TopicRouteData("T", datas, brokers, conf)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (route(QueueData(B, 1, 2), QueueData(A, 4, 1)), "a0 b0 b1"),
        (route(QueueData(A, 1, 1, 4), QueueData(B, 1, 1, 6)), "b0"),
        (route(QueueData(A, 1, 1), QueueData(B, 1, 1), masters=A), "a0"),
        (route(QueueData(A, 4, 4), conf="broker-b:2;broker-a:1"), "b0 b1 a0"),
    ],
    ids=["sorted by broker", "no permission to write", "no master", "ordered topic"],
)
def test_where_a_producer_writes(given: TopicRouteData, wanted: str) -> None:
    assert " ".join(f"{q.broker_name[-1]}{q.queue_id}" for q in publish_info(given)) == wanted


def test_the_next_queue_avoids_the_broker_that_failed_last() -> None:
    selection = Selection(publish_info(route(QueueData(A, 2, 2), QueueData(B, 1, 1))))
    assert [selection.next().broker_name for _ in range(3)] == [A, A, B]
    assert selection.next(last_broker=A).broker_name == B
    assert Selection(publish_info(route(QueueData(A, 1, 1)))).next(last_broker=A).broker_name == A


def test_a_slow_broker_is_kept_out_for_a_time() -> None:
    faults = LatencyFaultTolerance()
    faults.update(A, 600, now=0)
    assert not faults.is_available(A, 1_999)
    assert faults.is_available(A, 2_000)
    selection = Selection(publish_info(route(QueueData(A, 1, 1), QueueData(B, 1, 1))))
    assert selection.next_available(faults, 0).broker_name == B
    faults.update(A, 20, now=0)
    assert faults.is_available(A, 0)


def test_what_is_not_written_to_a_slow_broker_goes_to_the_others() -> None:
    fleet = fleet_with()
    fleet.producer.sent(B, 3_000)
    rates = {
        (q.broker_name, q.queue_id): log.rate
        for name in (A, B)
        for q, log in fleet.brokers[name].logs.items()
        if q.topic == "T"
    }
    assert rates == {(A, n): 8 for n in range(4)} | {(B, n): 0 for n in range(4)}


def test_a_topic_that_there_is_none_of_is_made_with_four_queues_on_each_broker() -> None:
    fleet = fleet_with()
    fleet.producer.write("new", 8)
    made = fleet.name_server.route("new")
    assert made is not None
    assert [(data.broker_name, data.write_queue_nums) for data in made.queue_datas] == [(A, 4), (B, 4)]
    fleet.producer.write("T", 16)
    assert fleet.brokers[A].topics["T"] == QueueData(A, 4, 4)


def test_a_key_that_is_hot_fills_one_queue() -> None:
    fleet = fleet_with()
    fleet.producer.write("T", 80, hot=0.5)
    rates = [log.rate for queue, log in fleet.brokers[A].logs.items() if queue.topic == "T"]
    assert rates == [45, 5, 5, 5]


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
    fleet.clients[1].wake()
    fleet.run(0)
    assert not [queue for queue in fleet.clients[1].owned() if queue.topic == "T"]


def test_a_client_that_could_not_tell_of_its_queues_is_refused_until_its_next_heartbeat() -> None:
    fleet = fleet_with(1)
    (client,) = fleet.clients
    client.versions["T"] += 60_000
    for held in client.queues():
        fleet.refuse_or_serve(held)
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
            fleet.join(f"h@{n}", manner())
            fleet.run(3)
        fleet.run(40)
        stood = [w for w in fleet.truth.brief(fleet.now) if w.kind is Kind.STALLED]
        longest.append(max((w.lasted_until(fleet.now) - w.from_ts for w in stood), default=0))
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
    fleet.clients[0].work_at(0)
    fleet.run(400)
    fleet.settle()
    assert {held.in_hand for held in fleet.clients[0].queues() if held.progress.log.queue.topic == "T"} == {1000}


def test_a_client_whose_pull_service_has_died_still_consumes_what_it_has_in_hand() -> None:
    fleet = fleet_with(1)
    fleet.run(10)
    (client,) = fleet.clients
    client.work_at(0)
    fleet.run(20)
    client.pull_no_more()
    client.work_at(client.manner.speed)
    fleet.run(5)
    fleet.settle()
    queues = [held for held in client.queues() if held.progress.log.queue.topic == "T"]
    assert {held.in_hand for held in queues} == {0}
    assert all(held.pulled < held.progress.log.max_offset(fleet.now) for held in queues)
