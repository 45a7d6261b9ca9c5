"""A group that flaps all day is not silent all day, and what is wrong all along is told whatever else changes."""

import pytest

from schemas.facts import AlertFact, QueueFact
from tests.core.fleet import T0, Fleet, running, said

HOUR = 3600
TWO = ("10.0.0.1@1", "10.0.0.2@1")


def flap(fleet: Fleet, period: float, seconds: float, same_id: bool, owns: str | None = None) -> None:
    """One client is there for half of each period. ``owns``: it clings to that, whatever its share is."""
    until, turn = fleet.now + seconds, 0
    while fleet.now < until:
        turn += 1
        client_id = "10.0.0.9@1" if same_id else f"10.0.0.9@{turn}"
        fleet.join(client_id)
        if owns is not None:
            fleet.own(client_id, owns)
        fleet.run(period / 2)
        fleet.leave(client_id)
        fleet.run(period / 2)


def first_fired(fleet: Fleet) -> dict[str, float]:
    """Kind -> second at which it first fired."""
    fired: dict[str, float] = {}
    for fact in fleet.told(AlertFact):
        if fact.payload.reason == "held_long_enough":
            fired.setdefault(fact.payload.kind, (fact.ts - T0) / 1000)
    return fired


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("same_id", [True, False], ids=["same id", "new id each time"])
@pytest.mark.parametrize("period", [20, 60, 80])
def test_a_client_that_comes_and_goes_within_minutes_is_told_within_minutes(period: float, same_id: bool) -> None:
    fleet = running(clients=TWO)
    flap(fleet, period, 600, same_id)
    assert first_fired(fleet)["REBALANCE_STORM"] <= 60 + 480
    alert = fleet.alert("REBALANCE_STORM", None)
    assert "10.0.0.9" in said(alert)
    assert [client.client_id.partition("@")[0] for client in alert.clients[:1]] == ["10.0.0.9"]


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    "period", [pytest.param(120, marks=pytest.mark.slow("minutes and hours of a group are folded")), 400]
)
def test_one_that_comes_and_goes_more_slowly_is_told_after_an_hour_and_not_for_longer_than_it_does(
    period: float,
) -> None:
    fleet = running(clients=TWO)
    flap(fleet, period, 1.4 * HOUR, same_id=False)
    assert HOUR < first_fired(fleet)["REBALANCE_STORM"] < 1.3 * HOUR
    assert "for 60 minutes and longer" in said(fleet.alert("REBALANCE_STORM", None))
    fleet.idle(1900)
    assert fleet.firing() == set()


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("period", [20, 60, 100])
def test_a_queue_that_is_nobodys_all_along_is_told_while_another_client_flaps(period: float) -> None:
    fleet = running(clients=TWO)
    fleet.own("10.0.0.1@1", "a0-3")
    fleet.own("10.0.0.2@1", "b0-2")
    flap(fleet, period, 300, same_id=False, owns="")
    told = {kind: at for kind, at in first_fired(fleet).items() if kind in ("ORPHANED", "STALLED")}
    assert 0 < min(told.values()) < 60 + 280
    for kind in told:
        assert {(q.broker_name, q.queue_id) for q in fleet.alert(kind).queues} == {("b", 3)}


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("period", [20, 40])
def test_it_is_told_after_three_minutes_if_nothing_waits_in_it(period: float) -> None:
    fleet = running(clients=TWO, rate=0)
    fleet.own("10.0.0.1@1", "a0-3")
    fleet.own("10.0.0.2@1", "b0-2")
    flap(fleet, period, 600, same_id=True, owns="")
    assert 60 + 180 < first_fired(fleet)["ORPHANED"] < 60 + 180 + 60
    assert {(q.broker_name, q.queue_id) for q in fleet.alert("ORPHANED").queues} == {("b", 3)}


def findings_of_b3(fleet: Fleet) -> set[str]:
    facts = (fact.payload for fact in fleet.told(QueueFact))
    return {fact.finding for fact in facts if (fact.broker_name, fact.queue_id) == ("b", 3)}


def test_it_is_not_told_if_a_report_has_it_now_and_then() -> None:
    fleet = running(clients=TWO, rate=0)
    fleet.own("10.0.0.1@1", "a0-3")
    for _ in range(5):
        fleet.own("10.0.0.2@1", "b0-2")
        flap(fleet, 20, 140, same_id=True, owns="")
        fleet.own("10.0.0.2@1", "b0-3")
        flap(fleet, 20, 20, same_id=True, owns="")
    assert "SETTLING" in findings_of_b3(fleet)
    assert "ORPHANED" not in findings_of_b3(fleet)


def test_it_is_not_told_if_its_offsets_move() -> None:
    """Somebody consumes it whom no broker lists."""
    fleet = running(clients=TWO)
    fleet.own("10.0.0.1@1", "a0-3")
    fleet.own("10.0.0.2@1", "b0-2")
    (unlisted,) = fleet.join("10.0.0.3@1", brokers=())
    unlisted.answers = False
    fleet.own("10.0.0.3@1", "b3")
    flap(fleet, 20, 600, same_id=True, owns="")
    assert fleet.finding("b3").finding == "SETTLING"
    assert "ORPHANED" not in findings_of_b3(fleet)


def test_a_deploy_of_hosts_that_keep_their_address_is_no_storm() -> None:
    fleet = running(clients=[f"10.0.1.{n}@1" for n in range(8)])
    for n in range(8):
        fleet.leave(f"10.0.1.{n}@1")
        fleet.run(10)
        fleet.join(f"10.0.1.{n}@2")
        fleet.run(10)
    fleet.run(120)
    assert "REBALANCE_STORM" not in first_fired(fleet)


def test_containers_that_show_one_address_are_not_taken_for_one() -> None:
    fleet = running(clients=[f"172.17.0.1@{n}" for n in range(8)])
    for n in range(8):
        fleet.leave(f"172.17.0.1@{n}")
        fleet.join(f"172.17.0.1@{n + 100}")
        fleet.run(20)
    fleet.run(120)
    assert "REBALANCE_STORM" not in first_fired(fleet)


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("period", [10, 20])
def test_members_that_change_faster_than_they_are_asked_leave_no_queue_that_moves_to_nobody(period: float) -> None:
    fleet = running(clients=TWO)
    flap(fleet, period, 300, same_id=True)
    assert set(first_fired(fleet)) == {"REBALANCE_STORM"}


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("same_id", [True, False], ids=["same id", "new id each time"])
@pytest.mark.parametrize("period", [30, 110, 550])
def test_hours_of_flapping_are_told_and_stay_told(period: float, same_id: bool) -> None:
    fleet = running(clients=TWO)
    flap(fleet, period, 5 * HOUR, same_id)
    assert first_fired(fleet)["REBALANCE_STORM"] < 1.3 * HOUR
    told = [(state, reason) for at, state, reason in fleet.alerts("REBALANCE_STORM") if at > 1.3 * HOUR]
    assert ("firing", "held_long_enough") not in told, "one alert, not one again and again"
    assert ("", "REBALANCE_STORM") in fleet.firing()


# --- alerts that come and go


def come_and_go(fleet: Fleet, wrong: float, right: float, turns: int) -> None:
    """Queue b3 is nobody's for ``wrong`` seconds, then right for ``right``."""
    for _ in range(turns):
        fleet.own("10.0.0.2@1", "b0-2")
        fleet.idle(wrong)
        fleet.own("10.0.0.2@1", "b0-3")
        fleet.idle(right)


def fired_at(fleet: Fleet, kind: str) -> list[float]:
    return [at for at, _, reason in fleet.alerts(kind) if reason == "held_long_enough"]


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    "turns",
    [5, pytest.param(96, marks=pytest.mark.slow("minutes and hours of a group are folded"))],
    ids=["an hour", "a day"],
)
def test_a_queue_that_is_nobodys_5_minutes_of_every_15_is_told_three_times_and_stays_told(turns: int) -> None:
    fleet = running(clients=("10.0.0.1@1", "10.0.0.2@1"), rate=0)
    come_and_go(fleet, 300, 600, turns)
    assert len(fired_at(fleet, "ORPHANED")) == 3
    assert fleet.firing() == {("T", "ORPHANED")}
    reasons = [reason for _, _, reason in fleet.alerts("ORPHANED")]
    assert reasons.count("comes_and_goes") == turns - 2
    assert reasons.count("came_back") == turns - 3
    assert said(fleet.alert("ORPHANED")).endswith(f"; found {turns} times so far")
    fleet.restart()
    fleet.idle(2900)
    assert fleet.firing() == {("T", "ORPHANED")}, "it may come back"
    fleet.idle(200)
    assert fleet.alerts("ORPHANED")[-1][1:] == ("resolved", "right_again")


def test_what_comes_back_after_more_than_an_hour_is_another_incident() -> None:
    fleet = running(clients=("10.0.0.1@1", "10.0.0.2@1"), rate=0)
    come_and_go(fleet, 120, 3700, 3)
    assert len(fired_at(fleet, "ORPHANED")) == 3
    assert fleet.firing() == set()


def test_evidence_that_is_lost_while_it_is_right_for_now_is_told_and_ends_nothing() -> None:
    fleet = running(clients=("10.0.0.1@1", "10.0.0.2@1"), rate=0)
    come_and_go(fleet, 120, 300, 3)
    fleet.of("10.0.0.1@1")[0].answers = False
    fleet.idle(200)
    assert fleet.alerts("ORPHANED")[-1][1:] == ("firing", "evidence_lost")
    fleet.of("10.0.0.1@1")[0].answers = True
    fleet.idle(60)
    assert fleet.alerts("ORPHANED")[-1][1:] == ("firing", "comes_and_goes")
    assert not fleet.alert("ORPHANED").stale


# --- who leaves seldom, and goes on doing so


def leave_for_a_moment(fleet: Fleet, client_id: str, period: float, turns: int) -> None:
    for _ in range(turns):
        fleet.leave(client_id)
        fleet.idle(40)
        fleet.join(client_id)
        fleet.idle(period - 40)


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    ("minutes", "turns", "is_told"),
    [(25, 7, True), pytest.param(40, 8, False, marks=pytest.mark.slow("minutes and hours of a group are folded"))],
)
def test_one_that_leaves_again_and_again_is_told_within_hours(minutes: int, turns: int, is_told: bool) -> None:
    """A crash loop that takes its time, where every episode is shorter than its grace."""
    fleet = running(clients=("10.0.0.1@1", "10.0.0.2@1"), progress_every=60)
    leave_for_a_moment(fleet, "10.0.0.2@1", minutes * 60, turns)
    assert bool(fired_at(fleet, "REBALANCE_STORM")) is is_told
    assert set(first_fired(fleet)) <= {"REBALANCE_STORM"}


def test_one_that_drops_out_of_one_broker_s_list_again_and_again_is_told() -> None:
    """Each time all members compute their queues again, though it is a member all along."""
    fleet = running(clients=TWO)
    for _ in range(8):
        fleet.of("10.0.0.2@1")[0].brokers = ("a",)
        fleet.idle(20)
        fleet.of("10.0.0.2@1")[0].brokers = None
        fleet.idle(580)
    assert set(first_fired(fleet)) == {"REBALANCE_STORM"}
    assert "10.0.0.2" in said(fleet.alert("REBALANCE_STORM", None))
