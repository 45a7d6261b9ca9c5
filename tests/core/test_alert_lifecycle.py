"""The life of an alert: each step has a named reason, its identity never changes, lost evidence never ends it."""

import pytest
from msgspec.structs import replace

from schemas.facts import AlertFact
from streaming.core.alerts.lifecycle import fingerprint
from streaming.core.alerts.phases import AlertReason
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import Settings
from tests.core.fleet import Fleet, running, said

QUIET = {"rate": 0}
HOUR = 3600


def duplicated(**fields: object) -> Fleet:
    """a0 is consumed by both, and fires."""
    fleet = running(**{**QUIET, **fields})
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}
    return fleet


def reasons(fleet: Fleet, kind: str) -> list[tuple[str, str]]:
    return [(state, reason) for _, state, reason in fleet.alerts(kind)]


FOUND_AND_FIRED = [("pending", "found"), ("firing", "held_long_enough")]


def test_an_alert_is_pending_then_firing_then_resolved() -> None:
    fleet = duplicated()
    fleet.own("y", "b0-3")
    fleet.run(60)
    assert reasons(fleet, "DUPLICATED") == [*FOUND_AND_FIRED, ("resolved", "right_again")]
    pending, firing, resolved = [fact.payload for fact in fleet.told(AlertFact)]
    assert pending.fired_ts is None
    assert pending.resolved_ts is None
    assert pending.active_ts == firing.active_ts == resolved.active_ts
    assert firing.fired_ts == resolved.fired_ts
    assert firing.fired_ts is not None
    assert firing.fired_ts - pending.active_ts >= 5_000
    assert resolved.resolved_ts == fleet.told(AlertFact)[-1].ts
    assert fleet.state.alerts == []


def test_an_alert_that_is_right_again_before_it_fires_leaves_silently() -> None:
    fleet = running(**QUIET)
    fleet.own("y", "a0 b0-3")
    fleet.report("y", fleet.now + 1)
    fleet.run(5)
    fleet.own("y", "b0-3")
    fleet.run(60)
    assert reasons(fleet, "DUPLICATED") == [("pending", "found"), ("resolved", "cleared_before_firing")]


def test_a_warning_must_hold_for_30_s() -> None:
    fleet = running(**QUIET, report_every=5)
    fleet.own("x", "a1-3")
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    (pending, firing) = fleet.alerts("MISPLACED")
    assert firing[0] - pending[0] == 30


def test_right_again_it_must_stay_so_for_5_s() -> None:
    fleet = duplicated(every=2, report_every=2)
    fleet.own("y", "b0-3")
    fleet.run(2)
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    assert reasons(fleet, "DUPLICATED") == FOUND_AND_FIRED


def test_queues_that_join_or_leave_an_alert_do_not_fire_it_again() -> None:
    fleet = duplicated()
    fleet.own("y", "a0-1 b0-3")
    fleet.run(60)
    fleet.own("y", "a1 b0-3")
    fleet.run(60)
    queues = [[q.queue_id for q in fact.payload.queues] for fact in fleet.told(AlertFact)]
    assert queues == [[0], [0], [0, 1], [1]]
    assert reasons(fleet, "DUPLICATED") == [*FOUND_AND_FIRED, *[("firing", "queues_changed")] * 2]


def test_a_cause_that_changes_is_told() -> None:
    fleet = running()
    fleet.stick("a0-1")
    fleet.run(80)
    assert fleet.alert("STALLED").cause == "UNEXPLAINED"
    fleet.of("x")[0].answers = False
    fleet.run(140)
    alert = fleet.alert("STALLED")
    assert alert.cause == "CLIENT_STALLED"
    assert "x is listed but has not answered for" in said(alert)
    assert reasons(fleet, "STALLED")[-1] == ("firing", "cause_changed")


def stuck_and_dropped() -> Fleet:
    """x is stopped, which is told. Then brokers drop it."""
    fleet = running(clients=("x", "y", "z"))
    fleet.pause("x")
    fleet.run(110)
    assert fleet.alert("STALLED").cause == "CLIENT_STALLED"
    fleet.freeze()
    fleet.leave("x")
    return fleet


def causes(fleet: Fleet, kind: str) -> list[tuple[str | None, bool, bool]]:
    """Of each fact of the alert its cause, and whether it shows that of a client that is stuck, or has left."""
    alerts = [fact.payload for fact in fleet.told(AlertFact) if fact.payload.kind == kind]
    return [(a.cause, a.observed.not_answering is not None, a.observed.member_gone is not None) for a in alerts]


def test_a_cause_is_not_replaced_by_what_ends_the_finding() -> None:
    """The stuck client has just left the list, and nobody has its queues yet: that is not why they stood still."""
    fleet = stuck_and_dropped()
    fleet.run(20)
    fleet.thaw()
    fleet.run(40)
    assert fleet.firing() == set()
    assert set(causes(fleet, "STALLED")) == {("CLIENT_STALLED", True, False)}


def test_a_cause_is_not_replaced_while_some_of_its_queues_are_right_already() -> None:
    """One queue after the other comes right, each time with another cause of the rest."""
    fleet = stuck_and_dropped()
    for owned in ("a2-3", "a1-3", "a0-3"):
        fleet.run(45)
        fleet.own("y", owned)
    fleet.run(60)
    assert {cause for cause, _, _ in causes(fleet, "STALLED")} == {"CLIENT_STALLED"}


def test_a_severity_that_changes_is_told() -> None:
    """STALLED by offsets alone is a warning; the first report, or a client that does not answer, makes it critical."""
    fleet = Fleet(report_every=0)
    fleet.join("x", "y")
    fleet.stick()
    fleet.run(100)
    assert fleet.alert("STALLED").severity == "warning"
    fleet.report("x")
    fleet.run(10)
    assert fleet.alert("STALLED").severity == "critical"
    assert ("firing", "severity_changed") in reasons(fleet, "STALLED")


def test_the_fingerprint_is_that_of_the_alert_whatever_restarts() -> None:
    fleet = duplicated()
    fleet.restart()
    fleet.own("y", "b0-3")
    fleet.run(60)
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    assert {fact.payload.fingerprint for fact in fleet.told(AlertFact)} == {fingerprint("c", "g", "T", "DUPLICATED")}
    assert len({fingerprint(*"cgTK"), fingerprint(*"cgTL"), fingerprint(*"cgUK"), fingerprint(*"chTK")}) == 4


# --- evidence that is lost


def test_a_firing_alert_without_evidence_is_stale_and_goes_on() -> None:
    fleet = duplicated()
    fleet.of("y")[0].answers = False
    fleet.run(150)
    assert reasons(fleet, "DUPLICATED") == [*FOUND_AND_FIRED, ("firing", "evidence_lost")]
    assert fleet.alert("DUPLICATED").stale
    fleet.of("y")[0].answers = True
    fleet.run(30)
    assert reasons(fleet, "DUPLICATED")[-1] == ("firing", "evidence_back")
    assert not fleet.alert("DUPLICATED").stale


def test_a_stale_alert_resolves_when_evidence_says_that_all_is_well() -> None:
    fleet = duplicated()
    fleet.of("y")[0].answers = False
    fleet.run(150)
    fleet.own("y", "b0-3")
    fleet.of("y")[0].answers = True
    fleet.run(60)
    assert reasons(fleet, "DUPLICATED")[-1] == ("resolved", "right_again")
    assert not fleet.alert("DUPLICATED").stale


def test_a_queue_that_cannot_be_decided_stays_in_the_alert() -> None:
    fleet = running(clients=("x", "y", "z"), topics={"T": {"a": 4}}, **QUIET)
    fleet.own("x", "a0-3")  # x 0 1, y 2, z 3
    fleet.run(60)
    assert [q.queue_id for q in fleet.alert("DUPLICATED").queues] == [2, 3]
    fleet.of("z")[0].answers = False
    fleet.run(150)
    assert [q.queue_id for q in fleet.alert("DUPLICATED").queues] == [2, 3]


def test_a_pending_alert_without_evidence_waits() -> None:
    fleet = running(**QUIET)
    fleet.own("y", "a0 b0-3")
    fleet.report("y", fleet.now + 1)
    fleet.run(5)
    for one in fleet.instances:
        one.answers = False
    fleet.run(200)
    assert reasons(fleet, "DUPLICATED") == [("pending", "found")]


def test_a_group_that_is_gone_for_an_hour_resolves_its_alerts_as_gone() -> None:
    fleet = duplicated()
    fleet.leave("x", "y")
    fleet.idle(HOUR - 20)
    assert reasons(fleet, "DUPLICATED") == [*FOUND_AND_FIRED, ("firing", "evidence_lost")]
    fleet.idle(60)
    assert reasons(fleet, "DUPLICATED")[-1] == ("resolved", "gone")
    assert fleet.state.alerts == []


@pytest.mark.slow("minutes and hours of a group are folded")
def test_gone_is_counted_from_when_the_group_left_not_from_when_evidence_was_lost() -> None:
    fleet = duplicated()
    for one in fleet.instances:
        one.answers = False
    fleet.idle(2 * HOUR)
    fleet.leave("x", "y")
    fleet.idle(HOUR - 20)
    assert "resolved" not in {state for state, _ in reasons(fleet, "DUPLICATED")}
    fleet.idle(60)
    assert reasons(fleet, "DUPLICATED")[-1] == ("resolved", "gone")


def test_a_group_that_comes_back_in_time_goes_on_with_its_alert() -> None:
    fleet = duplicated()
    fleet.leave("x", "y")
    fleet.idle(HOUR / 2)
    fleet.join("x", "y")
    fleet.own("y", "a0 b0-3")
    fleet.run(90)
    assert reasons(fleet, "DUPLICATED") == [*FOUND_AND_FIRED, ("firing", "evidence_lost"), ("firing", "evidence_back")]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_nothing_is_gone_while_a_broker_is_not_covered() -> None:
    fleet = duplicated()
    fleet.down.add("a")
    fleet.leave("x", "y")
    fleet.idle(2 * HOUR)
    assert "resolved" not in {state for state, _ in reasons(fleet, "DUPLICATED")}


def test_a_pending_alert_of_a_group_that_is_gone_resolves_too() -> None:
    fleet = running(**QUIET)
    fleet.own("y", "a0 b0-3")
    fleet.report("y", fleet.now + 1)
    fleet.run(5)
    fleet.leave("x", "y")
    fleet.idle(HOUR + 60)
    assert reasons(fleet, "DUPLICATED") == [("pending", "found"), ("resolved", "gone")]


def test_an_alert_whose_queue_has_left_the_route_is_over() -> None:
    fleet = running(**QUIET)
    fleet.own("y", "a0 b0-2")  # nobody has b3
    fleet.own("x", "a0-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED"), ("T", "ORPHANED")}
    fleet.route("T", a=4, b=3)
    fleet.run(20)
    assert fleet.firing() == {("T", "DUPLICATED")}


def test_an_alert_whose_evidence_is_lost_does_not_answer_for_a_stall() -> None:
    """That nobody owned the queue may be over by now. That messages wait in it is seen."""
    fleet = running()
    fleet.own("y", "b0-2")
    fleet.run(50)
    assert fleet.firing() == {("T", "ORPHANED")}
    fleet.of("x")[0].answers = False
    fleet.run(200)
    assert fleet.finding("b3").finding == "STALLED"
    assert fleet.alert("ORPHANED").stale
    assert fleet.firing() == {("T", "ORPHANED"), ("T", "STALLED")}


def test_that_a_queue_is_the_wrong_client_s_does_not_tell_that_it_stands_still() -> None:
    fleet = running()
    fleet.own("x", "a1-3 b0")
    fleet.own("y", "a0 b1-3")
    fleet.run(90)
    assert fleet.firing() == {("T", "MISPLACED")}
    fleet.pause("x")
    fleet.pause("y")
    fleet.run(150)
    assert ("T", "STALLED") in fleet.firing()


# --- a rolling deploy


def deploying(fleet: Fleet, seconds: float) -> None:
    until = fleet.now + seconds
    while fleet.now < until:
        fleet.join(f"new-{fleet.now}", topics={"T": "b"})
        fleet.run(10)
        fleet.leave(fleet.instances[1].client_id)
        fleet.run(10)


def test_a_subscription_mismatch_waits_while_members_both_join_and_leave() -> None:
    fleet = running()
    fleet.of("x")[0].topics = {"T": "a"}
    deploying(fleet, 300)
    assert fleet.firing() == set()
    told = [("pending", "found"), ("pending", "waits_for_deploy")]
    assert reasons(fleet, "INCONSISTENT_SUBSCRIPTION") == told, "once, and why"


@pytest.mark.slow("minutes and hours of a group are folded")
def test_it_waits_for_9_minutes_at_most() -> None:
    fleet = running(report_every=5)
    fleet.of("x")[0].topics = {"T": "a"}
    deploying(fleet, 700)
    (pending, _, firing) = fleet.alerts("INCONSISTENT_SUBSCRIPTION")
    assert 540 <= firing[0] - pending[0] <= 545


def test_when_the_deploy_is_over_what_still_differs_fires() -> None:
    fleet = running()
    fleet.of("x")[0].topics = {"T": "a"}
    deploying(fleet, 100)
    fleet.run(90)
    assert fleet.firing() == {("", "INCONSISTENT_SUBSCRIPTION")}


@pytest.mark.parametrize("change", ["join", "leave"])
def test_members_that_only_join_or_only_leave_are_no_deploy(change: str) -> None:
    fleet = running()
    fleet.join("z1", "z2", "z3", "z4", "z5")
    fleet.run(60)
    fleet.of("x")[0].topics = {"T": "a"}
    for number in range(5):
        if change == "join":
            fleet.join(f"w{number}")
        else:
            fleet.leave(f"z{number + 1}")
        fleet.run(10)
    fleet.run(10)
    assert ("", "INCONSISTENT_SUBSCRIPTION") in fleet.firing()


def test_timers_of_alerts_come_from_the_settings() -> None:
    fleet = duplicated(
        settings=Settings(timing=replace(DEFAULT_TIMING, hold_critical_ms=20_000, gone_after_ms=120_000))
    )
    fleet.leave("x", "y")
    fleet.run(130)
    assert reasons(fleet, "DUPLICATED")[-1] == ("resolved", "gone")


def test_every_reason_is_told_by_some_test_of_this_folder() -> None:
    """A reason that nobody can bring about is dead code: this list is what the tests of this folder assert."""
    assert {reason.value for reason in AlertReason} == {
        "found", "waits_for_deploy", "held_long_enough",
        "queues_changed", "cause_changed", "severity_changed", "waiting_changed", "evidence_lost",
        "evidence_back", "comes_and_goes", "lists_differ", "came_back", "right_again",
        "cleared_before_firing", "gone", "forgotten", "excluded",
    }  # fmt: skip


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize(("away", "after"), [(300, []), (HOUR + 300, [("resolved", "gone")])])
def test_an_alert_outlives_the_route_s_loss_of_a_broker_that_is_down(away: float, after: list[tuple[str, str]]) -> None:
    """Name servers drop it after two minutes; what was wrong there is not known to be right for that."""
    fleet = running(**QUIET)
    fleet.own("x", "a0-3")
    fleet.own("y", "b0-2")  # nobody has b3
    fleet.run(90)
    assert fleet.firing() == {("T", "ORPHANED")}
    fleet.down.add("b")
    fleet.run(120)
    fleet.route("T", a=4)
    fleet.run(away)
    assert reasons(fleet, "ORPHANED") == [*FOUND_AND_FIRED, ("firing", "evidence_lost"), *after]


def test_and_goes_on_when_the_broker_is_back() -> None:
    fleet = running(**QUIET)
    fleet.own("x", "a0-3")
    fleet.own("y", "b0-2")
    fleet.run(90)
    fleet.down.add("b")
    fleet.run(120)
    fleet.route("T", a=4)
    fleet.run(60)
    fleet.down.clear()
    fleet.route("T", a=4, b=4)
    fleet.run(240)
    assert reasons(fleet, "ORPHANED") == [*FOUND_AND_FIRED, ("firing", "evidence_lost"), ("firing", "evidence_back")]


# --- lists that differ


def divided() -> Fleet:
    """Broker b does not list y: x, that asks b, takes y's queues besides, until it happens to ask a."""
    fleet = running()
    fleet.of("y")[0].brokers = ("a",)
    fleet.own("x", "a0-3 b0-3")
    fleet.run(100)
    assert fleet.firing() == {("T", "DUPLICATED")}
    assert fleet.alert("DUPLICATED").cause == "VIEW_DIVERGENCE"
    return fleet


def test_what_comes_of_lists_that_differ_is_not_over_while_they_do() -> None:
    fleet = divided()
    for turn in range(4):
        fleet.own("x", "a0-3")
        fleet.run(60)
        assert reasons(fleet, "DUPLICATED")[-1] == ("firing", "lists_differ")
        fleet.own("x", "a0-3 b0-3")
        fleet.run(60)
        assert reasons(fleet, "DUPLICATED")[-1] == ("firing", "came_back"), turn
        fleet.restart()
    assert reasons(fleet, "DUPLICATED").count(("firing", "held_long_enough")) == 1
    assert "comes and goes" not in said(fleet.alert("DUPLICATED"))


def test_what_comes_and_goes_while_lists_differ_is_told_when_it_is_found_again() -> None:
    """Each time it is over before the owners could be asked a second time."""
    fleet = running()
    fleet.of("y")[0].brokers = ("a",)
    fleet.run(60)
    assert reasons(fleet, "DUPLICATED") == []
    for _ in range(2):
        assert not fleet.firing()
        fleet.own("x", "a0-3 b0-3")
        fleet.run(20)
        fleet.own("x", "a0-3")
        fleet.run(60)
    assert reasons(fleet, "DUPLICATED")[:2] == FOUND_AND_FIRED
    assert ("resolved", "cleared_before_firing") not in reasons(fleet, "DUPLICATED")


def test_but_not_when_lists_agreed_in_between() -> None:
    fleet = running()
    for _ in range(3):
        fleet.of("y")[0].brokers = ("a",)
        fleet.run(60)
        fleet.own("x", "a0-3 b0-3")
        fleet.run(20)
        fleet.own("x", "a0-3")
        fleet.of("y")[0].brokers = None
        fleet.run(60)
        assert not fleet.firing()


@pytest.mark.parametrize("agree_first", [True, False])
def test_it_is_over_once_lists_agree_and_queues_are_right(agree_first: bool) -> None:
    fleet = divided()
    if agree_first:
        fleet.of("y")[0].brokers = None
        fleet.run(60)
        assert fleet.firing() == {("T", "DUPLICATED")}
    fleet.own("x", "a0-3")
    fleet.run(60)
    fleet.of("y")[0].brokers = None
    fleet.run(90)
    assert reasons(fleet, "DUPLICATED")[-1] == ("resolved", "right_again")


def test_nor_does_it_outlive_the_one_whom_only_some_list() -> None:
    fleet = divided()
    fleet.own("x", "a0-3")
    fleet.run(60)
    fleet.leave("y")
    fleet.own("x", "a0-3 b0-3")
    fleet.run(90)
    assert reasons(fleet, "DUPLICATED")[-1] == ("resolved", "right_again")
