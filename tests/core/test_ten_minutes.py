"""What one rule must not hide from another: a queue in which messages wait is told within ten minutes."""

from itertools import cycle

import pytest

from schemas.facts import AlertFact
from tests.core.fleet import Fleet, Offsets, queues, running, said

FLOOR = 600
READING = 30  # one reading of the offsets, a round, and the time until a restarted client is back
LITE_ASSIGN = {"heartbeat": {"consume_type": "CONSUME_ACTIVELY"}, "report": {"subscriptions": ()}}
PULLS = {"heartbeat": {"consume_type": "CONSUME_ACTIVELY"}, "report": {"consume_type": "CONSUME_ACTIVELY", "owned": ()}}
OF_WAITING = {"STALLED", "SLOW_CONSUMER", "ORPHANED", "NO_MEMBERS"}


def first_told(fleet: Fleet, since: float) -> float:
    """How long after ``since``, in seconds, an alert about messages that wait first fired."""
    fired = [ts for kind in OF_WAITING for ts, state, _ in fleet.alerts(kind) if state == "firing" and ts >= since]
    return min(fired, default=1e9) - since


def severities(fleet: Fleet) -> set[str]:
    return {f.payload.severity for f in fleet.told(AlertFact) if f.payload.state == "firing"}


# --- restarts


def restart_loop(fleet: Fleet, names: str, up: float, down: float, seconds: float) -> None:
    """All are up and down together, with new processes under their ids, and consume nothing."""
    until = fleet.now + seconds
    for is_up in cycle((False, True)):
        if fleet.now >= until:
            return
        if is_up:
            fleet.join(*names)
            fleet.run(up)
        else:
            fleet.leave(*names)
            fleet.run(down)


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    ("names", "up", "down"),
    [
        ("x", 20, 100),
        ("xy", 40, 60),
        ("x", 50, 100),
        ("xyz", 20, 60),
        ("xy", 90, 5),
        ("x", 15, 100),
        ("xyz", 115, 115),
        ("xy", 10, 20),
    ],
)
@pytest.mark.parametrize("reports_pull_offsets", [True, False])
def test_clients_that_restart_in_a_loop_and_consume_nothing(
    names: str, up: float, down: float, reports_pull_offsets: bool
) -> None:
    fleet = Fleet()
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join(*names)
    fleet.run(200)
    began = fleet.now
    fleet.stick()
    restart_loop(fleet, names, up, down, FLOOR + READING + down)
    assert first_told(fleet, began) <= FLOOR + READING + down
    assert fleet.status().status != "healthy"
    restart_loop(fleet, names, up, down, FLOOR)
    told = [alert.severity for f in fleet.told(AlertFact) if (alert := f.payload).kind in ("STALLED", "SLOW_CONSUMER")]
    assert sorted(told, key=("warning", "critical").index) == told, "it gets worse at most once"


def test_one_that_restarts_while_the_others_consume_leaves_its_queues_unread() -> None:
    fleet = running(200, clients="xyz")
    fleet.freeze()
    mine = set(fleet.of("z")[0].owned)
    fleet.stuck = mine
    began = fleet.now
    for _ in range(8):
        fleet.leave("z")
        fleet.run(35)
        (z,) = fleet.join("z")
        z.owned, z.is_pinned = set(mine), True
        fleet.run(55)
    assert first_told(fleet, began) <= FLOOR + READING


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_whose_members_are_replaced_all_the_time_is_told_of_what_nobody_consumes() -> None:
    """Each change begins a new grace, a deploy is waited for, and no report ever counts."""
    fleet = running(200, clients="uvwxyz")
    fleet.stick("a0")
    began = fleet.now
    for n in range(30):
        fleet.leave(fleet.instances[0].client_id)
        fleet.join(f"new-{n}", topics={"T": "b" if n % 2 else "*"})
        fleet.run(25)
    assert first_told(fleet, began) <= FLOOR + READING


def test_the_ten_minutes_go_on_while_a_broker_s_lists_cannot_be_read() -> None:
    fleet = running(200)
    fleet.stick("a0")
    began = fleet.now
    for _ in range(12):
        fleet.no_lists = {"a"}
        fleet.run(15)
        fleet.no_lists = set()
        fleet.run(45)
    assert first_told(fleet, began) <= FLOOR + READING


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_without_members_has_one_page_though_a_broker_gives_no_list_now_and_then() -> None:
    fleet = running()
    fleet.leave("x", "y")
    for _ in range(20):
        fleet.run(35)
        fleet.no_lists = {"a"}
        fleet.run(25)
        fleet.no_lists = set()
    assert fleet.fired() == {("", "NO_MEMBERS")}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_they_do_not_run_while_a_broker_is_away() -> None:
    fleet = running(200)
    fleet.stick("a0-3")
    fleet.run(30)
    fleet.stick("")
    fleet.down = {"a"}
    fleet.run(900)
    fleet.restart_brokers("a")
    fleet.run(60)
    assert ("T", "STALLED") not in fleet.fired()


# --- what the group intends


@pytest.mark.slow("minutes and hours of a group are folded")
def test_they_begin_when_the_group_may_consume_again() -> None:
    """consumeEnable false for maintenance, then true: clients pull again some seconds later."""
    fleet = running(200)
    fleet.round_fields = {"consume_enable": False}
    fleet.stick()
    fleet.run(1800)
    assert fleet.finding("a0").finding == "CONSUME_DISABLED"
    fleet.round_fields = {"consume_enable": True}
    fleet.run(40)
    fleet.stick("")
    fleet.run(60)
    assert fleet.fired() == set()


@pytest.mark.slow("minutes and hours of a group are folded")
def test_and_a_group_that_does_not_begin_to_consume_is_told() -> None:
    fleet = running(200)
    fleet.round_fields = {"consume_enable": False}
    fleet.stick()
    fleet.run(1800)
    fleet.round_fields = {"consume_enable": True}
    fleet.run(100)
    assert fleet.firing() == {("T", "STALLED")}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_they_begin_when_a_topic_is_subscribed_to_again() -> None:
    fleet = running(200, topics={"T": {"a": 4}, "U": {"a": 4}})
    for one in fleet.instances:
        one.topics = {"T": "*"}
    fleet.balance()
    fleet.round_fields = {"subscribed": ("T",)}
    fleet.run(1800)
    for one in fleet.instances:
        one.topics = {"T": "*", "U": "*"}
    fleet.balance()
    fleet.stick("a0-3", topic="U")
    fleet.round_fields = {"subscribed": ("T", "U")}
    fleet.run(30)
    fleet.stick("")
    fleet.run(60)
    assert fleet.fired() == set()


# --- excluded


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(LITE_ASSIGN, id="pulls what it assigns itself"),
        pytest.param({"report": {"client_rebalance": False}}, id="its broker assigns queues"),
        pytest.param({"answers": False}, id="behind a proxy"),
    ],
)
def test_all_consumers_die_and_a_member_stays_that_is_not_judged(other: dict[str, object]) -> None:
    fleet = running()
    fleet.freeze()
    fleet.join("orders-7d9f@1@0@2hs8xkq31c", consumes=False, is_pinned=True, **other)
    fleet.run(140)
    fleet.leave("x", "y")
    began = fleet.now
    fleet.run(FLOOR + READING)
    assert first_told(fleet, began) <= FLOOR + READING
    assert fleet.status().status == "findings"
    assert severities(fleet) == {"warning"}
    fleet.leave("orders-7d9f@1@0@2hs8xkq31c")
    fleet.join("x", "y")
    fleet.run(120)
    assert fleet.firing() == set()
    assert [state for _, state, _ in fleet.alerts("STALLED")][-1] == "resolved"


def test_a_group_of_such_members_that_consumes_is_no_fault() -> None:
    fleet = running(2000, clients=("x",), how=LITE_ASSIGN)
    assert fleet.fired() == set()
    assert fleet.status().status == "excluded"


# --- an alert answers for another only while it is found


def owned_twice_now_and_then() -> Fleet:
    """y has owned what is x's, four times for a minute."""
    fleet = running(200, clients="xyz")
    fleet.freeze()
    (x,), (y,) = fleet.of("x"), fleet.of("y")
    of_y = set(y.owned)
    for _ in range(4):
        y.owned = of_y | x.owned
        fleet.run(60)
        y.owned = of_y
        fleet.run(60)
    return fleet


def test_a_stopped_client_is_told_beside_queues_that_are_owned_twice_now_and_then() -> None:
    fleet = owned_twice_now_and_then()
    assert ("T", "DUPLICATED") in fleet.fired()
    (x,) = fleet.of("x")
    x.answers = x.consumes = False
    began = fleet.now
    fleet.run(200)
    fired = [ts for ts, state, _ in fleet.alerts("STALLED") if state == "firing"]
    assert fired
    assert fired[0] - began < 150


# --- in hand


@pytest.mark.slow("minutes and hours of a group are folded")
def test_batches_of_clients_that_stopped_answering_are_no_fault() -> None:
    """Batches of 100 s. The broker shows that up to 1,000 messages are pulled."""
    fleet = running(100, rate=20)
    for turn in range(20):
        if turn == 6:
            for one in fleet.instances:
                one.answers = False
        fleet.hang()
        fleet.run(100)
        fleet.hang("")
        fleet.run(10)
    assert fleet.fired() == set()


def pulls_and_commits_every(fleet: Fleet, seconds: float, turns: int) -> None:
    for _ in range(turns):
        fleet.hang()
        fleet.run(seconds - 10)
        fleet.hang("")
        fleet.run(10)


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize("reports_pull_offsets", [True, False])
def test_pull_clients_that_store_their_offset_every_ten_minutes(reports_pull_offsets: bool) -> None:
    """Nothing is known of what they have in hand: that is never critical, and what was a step once may be again."""
    fleet = Fleet(rate=1, progress_every=20)
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join("x", "y", **PULLS)
    fleet.run(100)
    pulls_and_commits_every(fleet, FLOOR, 3)
    learned = fleet.now
    pulls_and_commits_every(fleet, FLOOR, 4)
    assert severities(fleet) <= {"warning"}
    assert [ts for ts, state, reason in fleet.alerts() if ts > learned and reason == "found"] == []


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_pull_group_that_begins_at_the_end_has_committed_nothing_of_idle_queues() -> None:
    """DefaultLitePullConsumer from the last offset: brokers say 0 until it gets the first message of a queue."""
    fleet = Fleet(rate=0)
    fleet.join("x", "y", heartbeat={"consume_type": "CONSUME_ACTIVELY"}, report={"consume_type": "CONSUME_ACTIVELY"})
    for queue in queues("a0-3 b0-3"):
        committed = 10_000 if queue.queue_id == 0 else 0
        fleet.offsets[queue] = Offsets(10_000, committed, pulled=committed)
    fleet._consume = lambda queue, offsets: None  # type: ignore[method-assign]
    fleet.run(60)
    for queue, offsets in fleet.offsets.items():
        if queue.queue_id == 0:
            offsets.broker += 5
            offsets.consumer = offsets.pulled = offsets.broker
    fleet.run(1800)
    assert fleet.fired() == set()


def test_what_the_owner_before_pulled_is_not_in_the_hands_of_a_tool() -> None:
    """A tool that pulls by itself has taken its place: it does not say what it owns."""
    fleet = running(200, clients="xyz")
    fleet.hang("b2-3")
    fleet.run(100)
    fleet.freeze()
    fleet.leave("z")
    (tool,) = fleet.join("0.0.0.0@tool", is_pinned=True, consumes=False, **PULLS)
    tool.owned = set()
    fleet.hang("")
    fleet.run(FLOOR + READING)
    assert ("T", "SLOW_CONSUMER") not in fleet.fired()
    assert ("T", "STALLED") in fleet.fired()


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize("reports_pull_offsets", [True, False])
def test_no_alert_becomes_more_severe_because_a_round_has_passed(reports_pull_offsets: bool) -> None:
    fleet = Fleet(progress_every=20)
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join("x", "y", **PULLS)
    fleet.run(120)
    fleet.stick("a0")
    fleet.run(900)
    assert severities(fleet) == {"warning"}
    assert "severity_changed" not in {reason for _, _, reason in fleet.alerts()}


def test_a_listener_that_hung_once_is_told_as_soon_the_next_time() -> None:
    fleet = running(100)
    told = []
    for _ in range(2):
        fleet.hang()
        began = fleet.now
        fleet.run(500)
        told.append(first_told(fleet, began))
        fleet.hang("")
        fleet.run(300)
    assert max(told) < 350


def test_a_batch_as_long_as_those_before_is_no_slow_consumer() -> None:
    """Batches of six minutes each, one after the other: two are told, the others are known by then."""
    fleet = running(100)
    for turn in range(5):
        fleet.hang()
        fleet.run(360)
        fleet.hang("")
        fleet.run(30)
        if turn == 0:
            assert fleet.fired() == {("T", "SLOW_CONSUMER")}
    assert [reason for _, _, reason in fleet.alerts("SLOW_CONSUMER")].count("held_long_enough") == 2
    fleet.hang("a0")
    fleet.run(FLOOR + READING)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}
    assert "had unconsumed messages for 600 s" in said(fleet.alert("SLOW_CONSUMER"))


def test_members_that_are_back_have_time_to_consume_what_has_waited() -> None:
    """People were called because nobody was there."""
    fleet = running(200)
    fleet.leave("x", "y")
    fleet.run(900)
    assert fleet.firing() == {("", "NO_MEMBERS")}
    fleet.stick()
    fleet.join("x", "y")
    fleet.run(60)
    fleet.stick("")
    fleet.run(60)
    assert fleet.fired() == {("", "NO_MEMBERS")}
    assert fleet.firing() == set()


def test_members_that_are_back_and_consume_nothing_are_told() -> None:
    fleet = running(200)
    fleet.leave("x", "y")
    fleet.run(900)
    fleet.stick()
    fleet.join("x", "y")
    fleet.run(120)
    assert fleet.firing() == {("T", "STALLED")}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_restarts_in_a_loop_and_was_told_as_empty_stays_told() -> None:
    fleet = running(200, clients="x")
    fleet.stick()
    restart_loop(fleet, "x", 50, 100, 3_000)
    fired = [ts for ts, _, reason in fleet.alerts("NO_MEMBERS") if reason == "held_long_enough"]
    assert len(fired) == 1
    assert fleet.firing()


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_queue_that_is_owned_now_and_then_and_never_consumed_is_told_beside_an_alert_that_says_something_else() -> (
    None
):
    """It was consumed twice a while ago: that alert is kept open, and says nothing of messages that wait."""
    fleet = owned_twice_now_and_then()
    assert ("T", "DUPLICATED") in fleet.firing()
    (x,) = fleet.of("x")
    of_x = set(x.owned)
    fleet.stuck = of_x
    began = fleet.now
    for _ in range(16):
        x.owned = set()
        fleet.run(5)
        fleet.join("w", brokers=("b",), is_pinned=True)
        fleet.run(10)
        x.owned = set(of_x)
        fleet.run(15)
        fleet.leave("w")
        fleet.run(10)
    assert first_told(fleet, began) <= FLOOR + READING
