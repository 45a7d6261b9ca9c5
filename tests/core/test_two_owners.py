"""Two that own a queue are told of while others come and go; a queue that changes hands each time is not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.observation import observe
from streaming.core.findings.queue_findings import judge_topics
from tests.core.fleet import T0, Fleet

PHASES = [
    0,
    pytest.param(5, marks=pytest.mark.slow("minutes and hours of a group are folded")),
    10,
    pytest.param(15, marks=pytest.mark.slow("minutes and hours of a group are folded")),
]
LOOPS = [(15, 15), (20, 20), (30, 30), (40, 40), (10, 40), (40, 10), (35, 35)]


def group(count: int = 3, phase: float = 0, **fields: object) -> Fleet:
    fleet = Fleet(**fields)
    fleet.join(*(f"10.0.0.{n}@1" for n in range(1, count + 1)))
    return fleet.run(60 + phase)


def crash_loop(fleet: Fleet, up: float, down: float, seconds: float, same_id: bool = False, **fields: object) -> None:
    """Another client comes and goes, under an id that is new each time, unless it is not."""
    until, turn = fleet.now + seconds, 0
    while fleet.now < until:
        turn += 1
        client_id = "10.0.0.9@1" if same_id else f"10.0.0.9@{turn}"
        fleet.join(client_id, **fields)
        fleet.run(up)
        fleet.leave(client_id)
        fleet.run(down)


def both_own_a0(fleet: Fleet) -> Fleet:
    fleet.own("10.0.0.1@1", "a0-3")
    fleet.own("10.0.0.2@1", "a0 b0-1")
    fleet.own("10.0.0.3@1", "b2-3")
    return fleet


def first_fired(fleet: Fleet, kind: str = "DUPLICATED") -> float:
    return min((at for at, _, why in fleet.alerts(kind) if why == "held_long_enough"), default=float("inf"))


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("up", "down"), LOOPS)
def test_two_owners_are_told_while_another_crashes_again_and_again(up: float, down: float, phase: float) -> None:
    fleet = both_own_a0(group(phase=phase))
    since = fleet.now
    crash_loop(fleet, up, down, 260, answers=False)
    assert first_fired(fleet) <= since + 240
    alert = fleet.alert("DUPLICATED")
    assert [(queue.broker_name, queue.queue_id) for queue in alert.queues] == [("a", 0)]
    assert {client.client_id for client in alert.clients} >= {"10.0.0.1@1", "10.0.0.2@1"}


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("up", "down"), [(5, 5), (10, 10), (5, 15), *LOOPS])
def test_two_instances_under_one_id_are_told_however_often_another_crashes(up: float, down: float) -> None:
    """No rebalance takes a queue from one of them and gives it to the other, so changes of members explain nothing."""
    fleet = group()
    fleet.join("10.0.0.1@1")
    since = fleet.now
    crash_loop(fleet, up, down, 320, answers=False)
    assert first_fired(fleet) <= since + 300
    assert fleet.alert("DUPLICATED").cause == "SAME_CLIENT_ID"


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("up", "down"), [(5, 5), (10, 10), (5, 15), *LOOPS])
def test_one_that_is_started_again_is_not_two_though_brokers_keep_its_dead_connection(
    up: float, down: float, phase: float
) -> None:
    """Its last report is not too old yet, and no report follows that."""
    fleet = group(phase=phase)
    (lost,) = fleet.of("10.0.0.1@1")
    fleet.drop(lost)
    ghost = fleet.ghost("10.0.0.1@1")
    fleet.join("10.0.0.1@1")
    crash_loop(fleet, up, down, 110)
    fleet.drop(ghost)
    crash_loop(fleet, up, down, 200)
    assert "DUPLICATED" not in {kind for _, kind in fleet.fired()}


def test_it_is_not_forgotten_over_a_restart() -> None:
    fleet = both_own_a0(group())
    for _ in range(7):
        crash_loop(fleet, 20, 20, 40)
        fleet.restart()
    assert first_fired(fleet) <= 60 + 240


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("same_id", [True, False], ids=["same id", "new id each time"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("up", "down"), [(5, 5), (10, 10), (5, 15), *LOOPS])
def test_a_queue_that_changes_hands_each_time_is_nobodys_page(
    up: float, down: float, phase: float, same_id: bool
) -> None:
    """Asked every 20 s and always at the wrong moment, two clients may seem to own it all along."""
    fleet = group(phase=phase)
    crash_loop(fleet, up, down, 400, same_id)
    assert {kind for _, kind in fleet.fired()} <= {"REBALANCE_STORM"}


@pytest.mark.slow("minutes and hours of a group are folded")
@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(2, 5),
    phase=st.sampled_from([0, 5, 10, 15]),
    times=st.lists(
        st.tuples(st.sampled_from([5, 10, 15, 20, 25, 40]), st.sampled_from([5, 10, 15, 20, 25, 40])),
        min_size=8,
        max_size=16,
    ),
    same_id=st.booleans(),
)
def test_nor_however_irregularly_it_does(
    count: int, phase: float, times: list[tuple[float, float]], same_id: bool
) -> None:
    fleet = group(count, phase)
    for turn, (up, down) in enumerate(times):
        client_id = "10.0.0.9@1" if same_id else f"10.0.0.9@{turn}"
        fleet.join(client_id)
        fleet.run(up)
        fleet.leave(client_id)
        fleet.run(down)
    fleet.run(60)
    assert {kind for _, kind in fleet.fired()} <= {"REBALANCE_STORM"}


def test_that_nobody_owns_a_queue_is_not_told_while_a_newcomer_that_was_not_heard_may_own_it() -> None:
    fleet = group(rate=0)
    fleet.own("10.0.0.1@1", "a0-3")
    fleet.own("10.0.0.2@1", "b0-1")
    fleet.own("10.0.0.3@1", "b2")
    crash_loop(fleet, 20, 20, 300, answers=False)
    assert fleet.fired() <= {("", "REBALANCE_STORM")}


def test_to_judge_twice_at_one_marker_counts_nothing_twice() -> None:
    fleet = both_own_a0(group())
    crash_loop(fleet, 20, 20, 80)
    fleet.join("10.0.0.9@99")
    fleet.run(5)
    unexplained_reports = [queue.unexplained_reports for queue in fleet.state.queues]
    for _ in range(3):
        judge_topics(observe(fleet.group, GroupEvidence(fleet.group)))
    assert [queue.unexplained_reports for queue in fleet.state.queues] == unexplained_reports
    assert max(unexplained_reports) > 0


def test_one_who_gives_it_up_ends_the_count() -> None:
    fleet = both_own_a0(group())
    crash_loop(fleet, 20, 20, 60)
    assert max(queue.two_owners_since_ts for queue in fleet.state.queues) > T0
    fleet.own("10.0.0.2@1", "b0-1")
    fleet.run(25)
    assert {queue.two_owners_since_ts for queue in fleet.state.queues} == {0}
