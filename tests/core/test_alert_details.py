"""What an alert fact says beside its finding: which clients, what changed shortly before, how much waits."""

from collections.abc import Callable

import msgspec
import pytest

from schemas.facts import AlertChange, AlertFact, QueueFact
from streaming.core.alerts.details import CHANGES_AT_MOST, CLIENTS_AT_MOST
from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.state.packing import pack
from tests.core.fleet import T0, Fleet, not_taken_over, running


def at(second: float) -> int:
    return T0 + round(second * 1000)


def changes(alert: AlertFact) -> list[tuple[float, str, str]]:
    return [((change.ts - T0) / 1000, change.what, change.subject) for change in alert.changes]


def test_of_queues_that_nobody_owns_it_is_said_since_when_and_how_much_waits_in_each() -> None:
    alert = not_taken_over().run(90).alert("ORPHANED")
    assert alert.since_ts == at(65)
    assert alert.active_ts > alert.since_ts, "it had settled before"
    assert all(queue.waiting and queue.waiting > 0 for queue in alert.queues)
    assert alert.waiting == sum(queue.waiting or 0 for queue in alert.queues)
    assert alert.oldest_ts == at(60)


def earliest(fleet: Fleet, alert: AlertFact) -> int:
    """Since when the first of the alert's queues is so, by the newest facts of queues."""
    newest = {
        (f.payload.broker_name, f.payload.queue_id): f.payload.since_ts for f in fleet.told(QueueFact) if f.topic == "T"
    }
    return min(newest[queue.broker_name, queue.queue_id] for queue in alert.queues)


def stalled() -> Fleet:
    fleet = running()
    fleet.stick("a0-1")
    return fleet


@pytest.mark.parametrize(("begin", "kind"), [(not_taken_over, "ORPHANED"), (stalled, "STALLED")])
def test_one_instant_says_since_when_a_queue_is_so(begin: Callable[[], Fleet], kind: str) -> None:
    """Of the alert and of its queues the same: when it began, and not when it was found after it had settled."""
    fleet = begin().run(120)
    alert = fleet.alert(kind)
    assert alert.since_ts == earliest(fleet, alert)
    assert alert.since_ts < alert.active_ts


def test_why_nobody_knows_who_should_own_a_queue_is_told_with_it() -> None:
    fleet = Fleet()
    fleet.join("x")
    fleet.join("y", strategy=AveragelyByCircle())
    fleet.run(90)
    told = [(queue.expected, queue.reason) for queue in fleet.alert("ORPHANED").queues]
    assert set(told) == {(None, "STRATEGIES_DIFFER")}
    unowned = fleet.alert("ORPHANED").queues[0]
    assert fleet.finding(f"{unowned.broker_name}{unowned.queue_id}").reason == "STRATEGIES_DIFFER"


def test_where_it_is_known_who_should_own_a_queue_no_reason_is_given() -> None:
    told = not_taken_over().run(90).alert("ORPHANED").queues
    assert all(queue.expected and queue.reason is None for queue in told)


@pytest.mark.parametrize(("rate", "idle"), [(0, {"ORPHANED": 1}), (4, {})])
def test_a_queue_of_a_retry_topic_in_which_nothing_waits_is_counted_apart(rate: int, idle: dict[str, int]) -> None:
    fleet = Fleet(topics={"T": {"a": 4, "b": 4}, "%RETRY%g": {"a": 1}}, rate=rate)
    fleet.join("x", "y", "z", topics={"T": "*", "%RETRY%g": "*"})
    fleet.run(60)
    fleet.freeze()
    fleet.leave("x")
    fleet.run(60)
    status = fleet.status()
    assert status.retry_counts == idle
    of_alerts = sum(len(alert.queues) for alert in fleet.state.alerts if alert.kind == "ORPHANED")
    assert status.counts["ORPHANED"] - idle.get("ORPHANED", 0) == of_alerts


def test_what_changed_before_is_told_and_who_was_there_from_the_start_has_not_joined() -> None:
    assert changes(not_taken_over().run(90).alert("ORPHANED")) == [(65, "left", "z")]


def test_a_route_that_changed_and_a_broker_that_came_back_are_told() -> None:
    fleet = running()
    fleet.down = {"b"}
    fleet.run(60)
    fleet.restart_brokers("b")
    fleet.run(55)
    for one in fleet.instances:
        one.knows_route = False
    fleet.route("T", a=8, b=4)
    fleet.run(400)
    told = changes(fleet.alert("ORPHANED"))
    assert told == [(125, "broker_returned", "b"), (185, "route_changed", "T")]


def test_a_broker_that_is_away_is_told() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.own("y", "")
    fleet.run(60)
    fleet.down = {"b"}
    fleet.run(60)
    alert = fleet.alert("ORPHANED")
    assert alert.stale
    assert changes(alert) == [(65, "broker_lost", "b")]


def test_both_instances_of_one_client_id_are_told_by_their_addresses_and_start_times() -> None:
    fleet = running(clients=("1.2.3.4@1", "1.2.3.4@7"), how={"heartbeat": {"version": "V4_5_0"}})
    fleet.join("1.2.3.4@1")
    fleet.run(120)
    alert = fleet.alert("DUPLICATED")
    duplicate = alert.clients[0]
    assert duplicate.client_id == "1.2.3.4@1"
    assert len(duplicate.addresses) == len(duplicate.start_ts) == 2
    assert (duplicate.brokers, duplicate.version) == (("a", "b"), "V4_5_0")
    assert (duplicate.strategy, duplicate.subscriptions) == ("AllocateMessageQueueAveragely", ("T",))
    assert duplicate.answered_ts is not None
    assert changes(alert) == [(65, "joined", "1.2.3.4@1")]


def test_those_that_the_cause_names_come_first_then_owners_then_who_should_own() -> None:
    fleet = Fleet({"T": {"a": 4, "b": 4}, "U": {"a": 4}})
    fleet.join("x", "y")
    fleet.join("a", topics={"U": "*"})
    fleet.run(120)
    alert = fleet.alert("ORPHANED")
    assert alert.cause == "SUBSCRIPTION_MISMATCH"
    assert [client.client_id for client in alert.clients] == ["a"]
    assert alert.clients[0].subscriptions == ("U",)
    mismatch = fleet.alert("INCONSISTENT_SUBSCRIPTION", None)
    assert {client.client_id: client.subscriptions for client in mismatch.clients} == {
        "a": ("U",), "x": ("T", "U"), "y": ("T", "U")
    }  # fmt: skip


def test_a_filter_stands_with_its_topic() -> None:
    fleet = Fleet()
    fleet.join("x", topics={"T": "red"})
    fleet.join("y", topics={"T": "blue"})
    fleet.run(120)
    mismatch = fleet.alert("INCONSISTENT_SUBSCRIPTION", None)
    assert [client.subscriptions for client in mismatch.clients] == [("T (red)",), ("T (blue)",)]


def test_a_large_group_is_cut_to_what_a_person_reads() -> None:
    fleet = running(clients=[f"c{n:02}" for n in range(40)], topics={"T": {"a": 64}})
    fleet.freeze()
    fleet.leave(*(f"c{n:02}" for n in range(30)))
    fleet.run(90)
    alert = fleet.alert("ORPHANED")
    assert len(alert.clients) == CLIENTS_AT_MOST
    assert len(alert.changes) == CHANGES_AT_MOST
    assert alert.changes == tuple(sorted(alert.changes, key=lambda change: (change.ts, change.what, change.subject)))


def test_a_group_whose_members_left_says_who_and_how_much_waits() -> None:
    fleet = running()
    fleet.leave("x", "y")
    fleet.run(200)
    alert = fleet.alert("NO_MEMBERS", None)
    assert alert.queues == ()
    assert alert.waiting is not None
    assert alert.waiting > 0
    assert {client.client_id for client in alert.clients} == {"x", "y"}
    assert AlertChange(at(65), "left", "x") in alert.changes


def test_without_offsets_nothing_is_said_of_what_waits() -> None:
    fleet = Fleet(progress_every=0)
    fleet.join("x", "y")
    fleet.own("y", "")
    fleet.run(90)
    alert = fleet.alert("ORPHANED")
    assert (alert.waiting, alert.oldest_ts) == (None, None)
    assert {queue.waiting for queue in alert.queues} == {None}


def test_broadcasting_clients_keep_their_offsets_to_themselves() -> None:
    fleet = Fleet()
    fleet.join("x", "y", report={"message_model": "BROADCASTING"})
    fleet.own("y", "a0-3")
    fleet.run(120)
    alert = fleet.alert("ORPHANED")
    assert (alert.waiting, alert.oldest_ts) == (None, None)


def test_a_queue_that_is_consumed_keeps_no_time_and_one_that_stands_still_keeps_the_last() -> None:
    fleet = running()
    size = len(pack(fleet.state))
    assert all(queue.anomaly is None for queue in fleet.state.queues)
    fleet.stick("a0")
    fleet.run(60)
    (stuck,) = [queue for queue in fleet.state.queues if queue.consumed_ts]
    assert stuck.consumed_ts == at(60)
    assert len(pack(fleet.state)) > size
    fleet.stick("")
    fleet.run(60)
    assert all(queue.anomaly is None for queue in fleet.state.queues)


def test_a_standing_queue_is_so_since_it_stood_still() -> None:
    fleet = running()
    fleet.stick("a0")
    fleet.run(90)
    alert = fleet.alert("STALLED")
    assert alert.since_ts is not None
    assert alert.active_ts - alert.since_ts >= 60_000
    assert alert.oldest_ts == at(60)


def test_what_an_alert_began_with_outlives_a_restart() -> None:
    fleet = not_taken_over().run(90)
    before = fleet.alert("ORPHANED")
    fleet.restart()
    fleet.of("x")[0].is_pinned = False
    fleet.own("x", "a0-3 b0-3")
    fleet.run(60)
    after = fleet.alert("ORPHANED")
    assert after.state == "resolved"
    assert (after.since_ts, after.active_ts) == (before.since_ts, before.active_ts)
    assert msgspec.json.decode(msgspec.json.encode(after), type=AlertFact) == after


def test_extreme_offsets_say_no_more_than_a_table_can_hold() -> None:
    fleet = running(rate=0)
    fleet.stick()
    for offsets in fleet.offsets.values():
        offsets.broker, offsets.consumer = 2**63 - 1, 0
    fleet.run(100)
    alert = fleet.alert("STALLED")
    assert alert.waiting == 2**63 - 1
    assert {queue.waiting for queue in alert.queues} == {2**63 - 1}
    fleet.restart()
