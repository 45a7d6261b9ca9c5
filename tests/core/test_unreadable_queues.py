"""Messages that wait where no client can read: how many, of which queues, and when that is over."""

import pytest

from schemas.facts import AlertFact, QueueFact
from schemas.identity import MessageQueue
from schemas.observed import UnreadableQueues
from streaming.core.alerts.phases import AlertReason
from tests.core.fleet import T0, Fleet, queues, running, said

HOUR = 3600
KIND = "UNREADABLE_QUEUES"


def reasons(fleet: Fleet) -> list[tuple[str, str]]:
    return [(state, reason) for _, state, reason in fleet.alerts(KIND)]


def shown(fleet: Fleet) -> tuple[UnreadableQueues, ...]:
    observed = fleet.alert(KIND).observed.unreadable
    assert observed is not None
    return observed.causes


def names(alert: AlertFact) -> list[tuple[str, int]]:
    return [(queue.broker_name, queue.queue_id) for queue in alert.queues]


# --- how many


def test_the_evidence_says_how_many_wait_and_when_that_was_read() -> None:
    fleet = running(rate=0)
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.rate = 4
    fleet.run(120)
    (found,) = shown(fleet)
    told_ts = fleet.told(AlertFact)[-1].ts
    assert found.read_ts is not None
    assert told_ts - 10_000 <= found.read_ts <= told_ts
    assert found.waiting == 2 * 4 * ((found.read_ts - T0) // 1000 - 60)
    assert not found.at_least
    assert f"({found.waiting} messages, read at {found.read_ts})" in said(fleet.alert(KIND))


def test_where_no_offset_of_the_group_is_known_what_arrives_is_counted() -> None:
    """The group never had the queue: a broker knows no offset of it (``queryConsumerOffset``: QUERY_NOT_FOUND)."""
    fleet = Fleet({"T": {"a": 4, "b": (2, 4, 6)}}, rate=0)
    fleet.without_offset = set(queues("b2-3"))
    fleet.join("x", "y")
    fleet.run(120)
    assert fleet.firing() == set()
    fleet.rate = 4
    fleet.run(60)
    alert = fleet.alert(KIND)
    assert (alert.cause, names(alert)) == ("READ_LT_WRITE", [("b", 2), ("b", 3)])
    (found,) = shown(fleet)
    assert found.at_least
    assert found.waiting is not None
    assert 100 < found.waiting < 2 * 4 * 60
    assert "at least" in said(alert)


def test_where_it_was_known_before_it_still_is() -> None:
    """It can not have moved: nobody could read the queue."""
    fleet = running(rate=0)
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.without_offset = set(queues("a2-3"))
    fleet.rate = 4
    fleet.run(60)
    (found,) = shown(fleet)
    assert not found.at_least
    assert found.waiting is not None
    assert found.waiting > 100


# --- evidence that goes away


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize(("away", "after"), [(600, []), (HOUR + 100, [("resolved", "gone")])])
def test_evidence_that_went_away_with_its_broker_says_nothing(away: float, after: list[tuple[str, str]]) -> None:
    """Name servers drop a broker that dies at once."""
    fleet = running()
    fleet.route("T", a=4, b=(2, 4, 6))
    fleet.run(120)
    told = reasons(fleet)
    fleet.down.add("b")
    fleet.route("T", a=4)
    fleet.run(away)
    assert reasons(fleet) == [*told, ("firing", "evidence_lost"), *after]


def test_it_goes_on_when_the_broker_is_back() -> None:
    fleet = running()
    fleet.route("T", a=4, b=(2, 4, 6))
    fleet.run(120)
    fleet.down.add("b")
    fleet.route("T", a=4)
    fleet.run(300)
    fleet.route("T", a=4, b=(2, 4, 6))
    fleet.restart_brokers("b")
    fleet.run(200)
    assert reasons(fleet)[-2:] == [("firing", "evidence_lost"), ("firing", "evidence_back")]
    assert names(fleet.alert(KIND)) == [("b", 2), ("b", 3)]


def test_queues_of_a_broker_that_is_down_stay_in_the_alert_of_others() -> None:
    fleet = running()
    fleet.route("T", a=(3, 4, 6), b=(2, 4, 6))
    fleet.run(120)
    fleet.down.add("b")
    fleet.route("T", a=(3, 4, 6))
    fleet.run(300)
    assert fleet.firing() == {("T", KIND)}
    assert names(fleet.alert(KIND)) == [("a", 3), ("b", 2), ("b", 3)]
    fleet.route("T", a=4)  # what is known is mended
    fleet.run(300)
    assert AlertReason.RIGHT_AGAIN.value not in [reason for _, reason in reasons(fleet)]


# --- one fault, one key


def test_a_client_that_keeps_what_cannot_be_read_is_no_phantom() -> None:
    """No queue is left to share out: RocketMQ's strategies refuse that, so each client keeps what it has."""
    fleet = running()
    fleet.freeze()
    fleet.stick("a0-3 b0-3")  # their brokers refuse the pulls
    fleet.route("T", a=(4, 4, 2), b=(4, 4, 2))
    fleet.run(400)
    assert fleet.fired() == {("T", KIND)}
    assert fleet.alert(KIND).cause == "NO_READ_PERM"
    assert {q.finding for q in (fleet.finding("a0"), fleet.finding("b3"))} == {"EXCLUDED"}
    assert fleet.finding("a0").reason == "UNREADABLE"
    assert fleet.finding("a0").owners


def test_a_stall_ends_where_the_queue_can_no_longer_be_read() -> None:
    fleet = running()
    fleet.stick("a2-3")
    fleet.run(120)
    assert ("T", "STALLED") in fleet.firing()
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.run(120)
    assert fleet.firing() == {("T", KIND)}


# --- queues that left the route


def shrunk(left: int = 50, *, is_read: bool = True) -> Fleet:
    """b2 and b3 leave the route, each with so many messages of the group in it."""
    fleet = running(rate=0)
    for queue in queues("b2-3"):
        fleet.offsets[queue].broker += left
    fleet.route("T", a=4, b=2)
    if is_read:
        fleet.asked_one_by_one = set(queues("b2-3"))
    return fleet


@pytest.mark.slow("minutes and hours of a group are folded")
def test_messages_left_in_queues_that_left_the_route_are_told_once() -> None:
    fleet = shrunk()
    fleet.run(300)
    alert = fleet.alert(KIND)
    assert (alert.state, alert.severity, alert.cause) == ("firing", "warning", "LEFT_ROUTE")
    assert names(alert) == [("b", 2), ("b", 3)]
    (found,) = shown(fleet)
    assert found.waiting == 100
    assert fleet.fired() == {("T", KIND)}
    fleet.run(HOUR)
    assert reasons(fleet) == [("pending", "found"), ("firing", "held_long_enough"), ("resolved", "gone")]
    fleet.run(2 * HOUR)
    assert len(reasons(fleet)) == 3
    assert len(fleet.state.queues) == 6


@pytest.mark.parametrize("tells_changes", [True, False])
def test_queues_that_left_the_route_are_told_once_though_events_are_lost(tells_changes: bool) -> None:
    """The route is doubtful after each of them, until it comes again."""
    fleet = shrunk()
    fleet.tells_changes = tells_changes
    fleet.run(200)
    for _ in range(4):
        fleet.seq += 1
        fleet.run(70)
    assert reasons(fleet)[:2] == [("pending", "found"), ("firing", "held_long_enough")]
    assert [reason for state, reason in reasons(fleet) if state != "firing"] == ["found"]


@pytest.mark.parametrize("lag", [30, 150])
def test_queues_that_left_the_route_are_told_once_though_a_name_server_lags(lag: float) -> None:
    """They are back as long as one has them. Their offsets are read some time after they have left again."""
    fleet = shrunk()
    fleet.run(200)
    fleet.other_copies["T"] = [{"a": 4, "b": 4}]
    fleet.say_route()
    fleet.run(lag)
    fleet.other_copies.pop("T")
    fleet.say_route()
    fleet.run(10)
    fleet.seq += 1
    fleet.run(300)
    assert [reason for state, reason in reasons(fleet) if state != "firing"] == ["found"]
    assert [reason for _, reason in reasons(fleet)].count("held_long_enough") == 1
    assert fleet.firing() == {("T", KIND)}


@pytest.mark.parametrize("fleet", [shrunk(0), shrunk(is_read=False)], ids=["empty", "not read since"])
def test_nothing_is_told_of_queues_that_are_not_known_to_hold_messages(fleet: Fleet) -> None:
    """What waited before they left may have been consumed just then."""
    fleet.run(300)
    assert fleet.alerts() == []


def test_it_ends_when_the_queues_are_back_and_consumed() -> None:
    fleet = shrunk()
    fleet.run(200)
    assert fleet.firing() == {("T", KIND)}
    fleet.route("T", a=4, b=4)
    fleet.run(60)
    assert reasons(fleet)[-1] == ("resolved", "right_again")


def test_a_broker_that_is_down_has_not_left_the_route_for_good() -> None:
    fleet = running(rate=0)
    for queue in queues("b0-3"):
        fleet.offsets[queue].broker += 50
    fleet.say_progress()
    fleet.down.add("b")
    fleet.route("T", a=4)
    fleet.run(1000)
    assert fleet.alerts() == []


def test_a_broker_that_was_taken_out_on_purpose_leaves_what_its_last_offsets_say() -> None:
    """``mqadmin wipeWritePerm``, then it is shut down before all is consumed."""
    fleet = running(rate=0)
    fleet.stuck = set(queues("b0-1"))
    for queue in queues("b0-1"):
        fleet.offsets[queue].broker += 50
    fleet.route("T", a=4, b=(4, 4, 4))
    fleet.run(30)
    fleet.down.add("b")
    fleet.route("T", a=4)
    fleet.run(200)
    alert = fleet.alert(KIND)
    assert (alert.state, alert.cause, names(alert)) == ("firing", "LEFT_ROUTE", [("b", 0), ("b", 1)])


def test_a_queue_that_the_route_still_has_is_not_told_to_have_left() -> None:
    fleet = running()
    fleet.route("T", a=(2, 4, 6), b=4)
    fleet.run(120)
    told = [fact.payload for fact in fleet.told(QueueFact) if fact.payload.reason == "LEFT_ROUTE"]
    assert told == []


# --- an offset beyond the end of its queue


def beyond_the_end(fleet: Fleet, queue: MessageQueue) -> None:
    """The broker lost its store: its queues begin at 0, and the group's offsets are what they were."""
    fleet.offsets[queue].broker = 10


def test_an_offset_beyond_the_end_does_not_end_a_stall() -> None:
    fleet = running()
    fleet.stick("a0")
    fleet.run(120)
    assert ("T", "STALLED") in fleet.firing()
    fleet.rate = 0
    beyond_the_end(fleet, *queues("a0"))
    fleet.run(60)
    assert ("T", "STALLED") in fleet.firing()


def test_an_offset_beyond_the_end_is_not_consumed_by_clients_that_nobody_lists() -> None:
    fleet = running()
    fleet.leave("x", "y")
    fleet.run(30)
    assert fleet.state.consumed_unlisted_ts == 0
    for offsets in fleet.offsets.values():
        offsets.consumer = offsets.broker + 1_000  # set by hand, beyond the end
    fleet.run(30)
    assert fleet.state.consumed_unlisted_ts == 0
