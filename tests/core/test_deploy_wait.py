"""What members that differ bring about waits while they are replaced one by one, and not for longer."""

import pytest

from schemas.facts import AlertFact
from streaming.core.allocation.averagely import AveragelyByCircle
from tests.core.fleet import T0, Fleet, not_taken_over, running

OLD, NEW = {"T": "a"}, {"T": "a || b"}


def old_ones(count: int) -> Fleet:
    fleet = Fleet()
    fleet.join(*(f"old-{n}" for n in range(count)), topics=OLD)
    return fleet.run(700)


def replace(fleet: Fleet, names: list[int], pace: float, gap: float = 10) -> None:
    """One after the other leaves, and another takes its place after ``gap`` seconds."""
    for n in names:
        fleet.leave(f"old-{n}")
        fleet.run(gap)
        fleet.join(f"new-{n}", topics=NEW)
        fleet.run(pace - gap)


def fired_at(fleet: Fleet) -> list[float]:
    return [at for at, _, reason in fleet.alerts() if reason == "held_long_enough"]


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("gap", [5, 15])
@pytest.mark.parametrize(("count", "pace"), [(3, 20), (10, 20), (4, 60), (8, 60), (4, 120), (3, 190)])
def test_a_deploy_that_makes_progress_pages_nobody(count: int, pace: float, gap: float) -> None:
    fleet = old_ones(count)
    replace(fleet, list(range(count)), pace, gap)
    fleet.run(300)
    assert fired_at(fleet) == []
    assert "waits_for_deploy" in [reason for _, _, reason in fleet.alerts()] or pace <= 20


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("rest", [60, 180, 280])
def test_a_deploy_some_at_a_time_pages_nobody_however_long_it_rests_between(rest: float) -> None:
    fleet = old_ones(6)
    for batch in ([0, 1], [2, 3], [4, 5]):
        fleet.leave(*(f"old-{n}" for n in batch))
        fleet.run(30)
        fleet.join(*(f"new-{n}" for n in batch), topics=NEW)
        fleet.run(rest - 30)
    fleet.run(300)
    assert fired_at(fleet) == []


def test_nor_one_that_starts_the_new_ones_first() -> None:
    fleet = old_ones(4)
    for n in range(4):
        fleet.join(f"new-{n}", topics=NEW)
        fleet.run(30)
        fleet.leave(f"old-{n}")
        fleet.run(60)
    fleet.run(300)
    assert fired_at(fleet) == []


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("pace", [20, 60, 120])
def test_one_that_stopped_is_known_by_its_pace(pace: float) -> None:
    """Nothing has changed for more than twice as long as from one change to the next."""
    fleet = old_ones(6)
    replace(fleet, [0, 1, 2], pace)
    last_change = fleet.now - (pace - 10)
    fleet.run(600)
    silence = 2 * (pace - 10) + 25
    assert silence <= fired_at(fleet)[0] - last_change <= silence + 35


def test_of_one_replacement_the_pace_is_not_known_and_nine_minutes_are_waited_for() -> None:
    fleet = old_ones(6)
    replace(fleet, [0], 60)
    pending = fleet.alerts("INCONSISTENT_SUBSCRIPTION")[0][0]
    fleet.run(700)
    assert pending + 530 <= fired_at(fleet)[0] <= pending + 545


def test_what_is_still_wrong_when_nobody_is_left_of_the_old_ones_is_told_soon() -> None:
    fleet = old_ones(3)
    replace(fleet, [0, 1], 120)
    fleet.leave("old-2")
    fleet.run(10)
    fleet.join("new-2", topics={"T": "c"})
    last_change = fleet.now
    fleet.run(120)
    assert fired_at(fleet)[0] <= last_change + 60


def test_a_member_that_joined_right_before_the_deploy_is_yet_to_be_replaced() -> None:
    """It was not there before, by the changes that follow one another. But it runs what all ran."""
    fleet = old_ones(2)
    fleet.join("old-2", topics=OLD)
    fleet.run(30)
    replace(fleet, [0, 1, 2], 140)
    fleet.run(300)
    assert fired_at(fleet) == []
    assert "waits_for_deploy" in [reason for _, _, reason in fleet.alerts()]


def test_a_member_that_is_started_again_before_its_turn_is_yet_to_be_replaced() -> None:
    fleet = old_ones(3)
    replace(fleet, [0], 60)
    for n in (1, 2):
        fleet.leave(f"old-{n}")
        fleet.run(10)
        fleet.join(f"old-{n}", topics=OLD)
        fleet.run(50)
    replace(fleet, [1, 2], 100)
    fleet.run(300)
    assert fired_at(fleet) == []


def test_members_that_joined_right_before_are_told_if_the_deploy_leaves_them_out() -> None:
    fleet = old_ones(2)
    fleet.join("old-2", topics=OLD)
    fleet.run(30)
    replace(fleet, [0, 1], 140)
    last_change = fleet.now - 130
    fleet.run(400)
    silence = 2 * 130 + 25
    assert silence <= fired_at(fleet)[0] - last_change <= silence + 35


def test_members_that_only_join_are_no_deploy_though_one_left_long_before() -> None:
    fleet = old_ones(3)
    fleet.leave("old-0")
    fleet.run(620)
    fleet.join("new-0", "new-1", strategy=AveragelyByCircle())
    joined = fleet.now
    fleet.run(120)
    assert fired_at(fleet)[0] <= joined + 90


def test_a_deploy_is_not_forgotten_over_a_restart() -> None:
    fleet = old_ones(4)
    replace(fleet, [0, 1], 120)
    fleet.restart()
    replace(fleet, [2, 3], 120)
    assert fired_at(fleet) == []


def test_a_second_process_under_an_id_is_no_restart_and_so_no_deploy() -> None:
    """It answers before a list shows its connection, and until then looks like a restart under the id."""
    fleet = old_ones(4)
    fleet.of("old-3")[0].topics = NEW
    fleet.run(20)
    (second,) = fleet.join("old-0", topics=OLD)
    fleet.report(second)
    fleet.run(60)
    assert ("", "INCONSISTENT_SUBSCRIPTION") in fleet.fired()
    assert "waits_for_deploy" not in [reason for _, _, reason in fleet.alerts("INCONSISTENT_SUBSCRIPTION", None)]


def test_a_listener_that_hangs_waits_for_no_deploy() -> None:
    """Its owner answers and has messages in hand: that follows from no difference between members."""
    fleet = old_ones(4)
    replace(fleet, [0], 60)
    stuck = fleet.of("old-3")[0]
    stuck.busy = 9
    fleet.stuck = set(stuck.owned)
    replace(fleet, [1, 2], 240)
    assert ("T", "SLOW_CONSUMER") in fleet.fired()
    assert "waits_for_deploy" not in [reason for _, _, reason in fleet.alerts("SLOW_CONSUMER")]


@pytest.mark.parametrize("gap", [0, 5, 15])
def test_a_deploy_under_the_same_ids_is_one_though_no_list_was_ever_without_them(gap: float) -> None:
    """A process that is back within seconds has another start time, in its reports."""
    fleet = old_ones(4)
    for n in range(4):
        fleet.leave(f"old-{n}")
        fleet.run(gap)
        (one,) = fleet.join(f"old-{n}", topics=NEW)
        one.start_ts += 3_600_000
        fleet.run(90 - gap)
    fleet.run(300)
    assert fired_at(fleet) == []
    assert "waits_for_deploy" in [reason for _, _, reason in fleet.alerts()]


def test_two_processes_under_one_id_wait_for_no_deploy() -> None:
    fleet = old_ones(4)
    replace(fleet, [0, 1], 60)
    fleet.join("new-1", topics=NEW)
    doubled = fleet.now
    replace(fleet, [2], 120)
    assert ("T", "DUPLICATED") in fleet.fired()
    assert fleet.alert("DUPLICATED").cause == "SAME_CLIENT_ID"
    assert min(at for at, state, _ in fleet.alerts("DUPLICATED") if state == "firing") <= doubled + 110


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("rest", [100, 150, 240])
@pytest.mark.parametrize("restarts", [1, 4])
def test_a_deploy_after_all_have_started_and_some_were_restarted_is_one_too(restarts: int, rest: float) -> None:
    """Who starts in the morning replaces nobody: what follows is judged by itself."""
    fleet = running(120, clients=("night",), how={"topics": OLD})
    for n in range(8):
        fleet.join(f"old-{n}", topics=OLD)
        fleet.run(5)
    for n in range(restarts):
        fleet.run(rest)
        fleet.leave(f"old-{n}")
        fleet.run(10)
        fleet.join(f"old-{n}", topics=OLD)
    fleet.leave("night")
    fleet.run(rest)
    replace(fleet, list(range(8)), 15)
    fleet.run(300)
    assert fired_at(fleet) == []


# --- clients that do not answer


def silent_deploy(fleet: Fleet, stuck: str) -> None:
    """Six silent members are replaced, a step every 30 s; from the second step on nobody consumes these queues."""
    fleet.join(*(f"old-{n}" for n in range(6)))
    fleet.run(700)
    for n in range(6):
        replace(fleet, [n], 30)
        fleet.stick(stuck)


def test_stall_that_nothing_explains_waits_for_a_deploy_of_clients_that_do_not_answer() -> None:
    """A deploy that changes the strategy leaves queues to nobody, and no report says that members differ."""
    fleet = Fleet(report_every=0)
    silent_deploy(fleet, "a0")
    assert fired_at(fleet) == []
    assert "waits_for_deploy" in [reason for _, _, reason in fleet.alerts("STALLED")]
    fleet.stuck.clear()
    fleet.run(120)
    assert fired_at(fleet) == []


def test_stall_that_outlasts_the_deploy_is_told() -> None:
    fleet = Fleet(report_every=0)
    silent_deploy(fleet, "a0")
    fleet.run(120)
    assert fleet.firing() == {("T", "STALLED")}


def test_stall_of_clients_that_do_not_answer_waits_for_nothing_without_a_deploy() -> None:
    fleet = running(700, report_every=0)
    fleet.stick("a0")
    fleet.run(90)
    assert fleet.firing() == {("T", "STALLED")}


@pytest.mark.parametrize(("is_odd_gone", "is_told"), [(True, True), (False, False)])
def test_once_all_members_run_alike_again_nothing_else_waits_for_the_deploy(is_odd_gone: bool, is_told: bool) -> None:
    """One that differs was there for a while, and one of the others left: what is found later has another cause."""
    fleet = old_ones(4)
    fleet.join("odd", topics=NEW)
    fleet.run(100)
    fleet.leave("old-0")
    fleet.run(60)
    if is_odd_gone:
        fleet.leave("odd")
    else:
        fleet.leave("old-3")
    fleet.own("old-1", "")
    fleet.run(110)
    assert (("T", "ORPHANED") in fleet.fired()) is is_told


@pytest.mark.slow("minutes and hours of a group are folded")
def test_what_waited_beside_an_alert_waits_no_longer_when_that_one_fires() -> None:
    """Nine minutes are waited for since members differ, and not once more for what was found minutes later."""
    fleet = running(700, clients=[f"old-{n}" for n in range(14)], how={"topics": OLD}, topics={"T": {"a": 14, "b": 14}})
    for n in range(12):
        fleet.leave(f"old-{n}")
        fleet.run(10)
        fleet.join(f"new-{n}", topics=NEW, strategy=AveragelyByCircle() if n > 2 else None)
        fleet.run(50)
    first, second = "INCONSISTENT_SUBSCRIPTION", "DUPLICATED"
    found = {kind: fleet.alerts(kind)[0][0] for kind in (first, second)}
    assert found[second] >= found[first] + 150
    told = {kind: next(at for at, _, reason in fleet.alerts(kind) if reason == "held_long_enough") for kind in found}
    assert told[first] >= found[first] + 540
    assert told[second] <= told[first] + 60


# --- what an alert that waits says, and harm that waits for no deploy

PACE_S = 90


def deploy_that_drops_a_topic(steps: int, rate: int = 4) -> tuple[Fleet, float]:
    """New members subscribe to U alone, so the share of T that each of them gets has no owner. And when it began."""
    fleet = Fleet(topics={"T": {"a": 4, "b": 4}, "U": {"a": 4}}, rate=rate)
    fleet.join(*(f"old-{n}" for n in range(8)), topics={"T": "*"})
    fleet.run(700)
    began = fleet.now
    for n in range(steps):
        fleet.leave(f"old-{n}")
        fleet.run(10)
        fleet.join(f"new-{n}", topics={"U": "*"})
        fleet.run(PACE_S - 10)
    return fleet, began


def facts_of(fleet: Fleet, kind: str) -> list[tuple[float, AlertFact]]:
    return [((f.ts - T0) / 1000, f.payload) for f in fleet.told(AlertFact) if f.payload.kind == kind]


def test_an_alert_that_waits_for_a_deploy_says_since_when_and_until_when() -> None:
    fleet, began = deploy_that_drops_a_topic(2)
    told = [alert for _, alert in facts_of(fleet, "ORPHANED") if alert.reason == "waits_for_deploy"]
    assert {alert.waits_for for alert in told} == {"deploy"}
    first = min(alert.active_ts for _, alert in facts_of(fleet, "INCONSISTENT_SUBSCRIPTION"))
    until_s = (told[-1].waits_until_ts or 0) / 1000 - T0 / 1000
    assert until_s == pytest.approx((first - T0) / 1000 + 540, abs=60)
    assert (told[-1].deploy_since_ts or 0) - T0 == pytest.approx(began * 1000, abs=10_000)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_queues_without_an_owner_are_a_warning_once_messages_have_waited_three_minutes_in_spite_of_a_deploy() -> None:
    fleet, began = deploy_that_drops_a_topic(4)
    fired = [(at, alert) for at, alert in facts_of(fleet, "ORPHANED") if alert.reason == "held_long_enough"]
    assert {(alert.state, alert.severity) for _, alert in fired} == {("firing", "warning")}
    at, alert = fired[0]
    assert began + 180 <= at <= began + 180 + PACE_S  # proven between two steps
    assert (alert.waits_for, alert.waits_until_ts) == (None, None)
    assert (alert.deploy_since_ts or 0) - T0 == pytest.approx(began * 1000, abs=10_000)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_it_becomes_critical_once_the_deploy_is_waited_for_no_longer() -> None:
    fleet, _ = deploy_that_drops_a_topic(4)
    fleet.run(400)
    severities = [alert.severity for _, alert in facts_of(fleet, "ORPHANED") if alert.state == "firing"]
    assert severities == sorted(severities, reverse=True)
    assert severities[-1] == "critical"
    assert fleet.alert("ORPHANED").deploy_since_ts is None


def test_queues_without_an_owner_in_which_nothing_waits_are_no_harm_to_a_deploy() -> None:
    fleet, _ = deploy_that_drops_a_topic(4, rate=0)
    assert "waits_for_deploy" in [reason for _, _, reason in fleet.alerts("ORPHANED")]
    assert fired_at(fleet) == []


def test_an_alert_that_has_to_last_says_from_when_on_it_may_fire() -> None:
    fleet = not_taken_over().run(60)
    found = facts_of(fleet, "ORPHANED")[0][1]
    assert (found.reason, found.waits_for) == ("found", "time")
    assert found.waits_until_ts == found.active_ts + 5_000
    assert {alert.waits_for for _, alert in facts_of(fleet, "ORPHANED") if alert.state != "pending"} <= {None}
