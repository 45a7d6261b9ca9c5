"""Grace runs on evidence: a report answered before the last change and its grace never counts, however old it gets."""

import pytest
from msgspec.structs import replace

from schemas.facts import QueueFact
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings
from tests.core.fleet import Fleet, running

SILENT = {"report_every": 0, "rate": 0}


def both_report(fleet: Fleet, at: float) -> None:
    fleet.report("x", at)
    fleet.report("y", at)


def joined_at_5() -> Fleet:
    """x and y are listed first at 5 s, and both say that they own a0."""
    fleet = Fleet(**SILENT)
    fleet.join("x", "y")
    fleet.own("y", "a0 b0-3")
    return fleet.run(5)


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    ("answered", "finding"),
    [(29.999, "SETTLING"), (30.0, "DUPLICATED"), (30.001, "DUPLICATED")],
)
def test_a_report_counts_from_25_s_after_a_join(answered: float, finding: str) -> None:
    fleet = joined_at_5().run(20)
    both_report(fleet, answered)
    fleet.run(10)
    assert fleet.finding("a0").finding == finding


def test_a_report_answered_before_the_grace_does_not_count_later_either() -> None:
    fleet = joined_at_5().run(20)
    both_report(fleet, 29.9)
    fleet.run(45)
    assert fleet.finding("a0").finding == "SETTLING"
    assert fleet.alerts() == []


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("answered", "finding"), [(5.0, "UNKNOWN"), (5.001, "SETTLING")])
def test_a_report_from_before_the_change_says_nothing(answered: float, finding: str) -> None:
    fleet = joined_at_5()
    both_report(fleet, answered)
    fleet.run(5)
    assert fleet.finding("a0").finding == finding


def test_one_report_that_does_not_count_is_enough_to_wait() -> None:
    fleet = joined_at_5().run(20)
    fleet.report("x", 31)
    fleet.report("y", 29)
    fleet.run(5)
    assert fleet.finding("a0").finding == "SETTLING"


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    ("orderly", "answered", "finding"),
    [
        (False, 154.999, "SETTLING"),
        (False, 155.0, "DUPLICATED"),
        (True, 214.999, "SETTLING"),
        (True, 215.0, "DUPLICATED"),
    ],
)
def test_a_report_counts_from_55_s_after_a_route_change_and_60_s_later_if_orderly(
    orderly: bool, answered: float, finding: str
) -> None:
    fleet = running(95, how={"report": {"orderly": orderly}}, **SILENT)
    both_report(fleet, 95)
    fleet.route(a=4, b=6)
    fleet.run(5)  # the new route is seen at 100 s
    fleet.own("y", "a0 b0-5")
    fleet.run(45)
    both_report(fleet, 144)
    fleet.run(answered - fleet.now)
    both_report(fleet, answered)
    fleet.run(5)
    assert fleet.finding("a0").finding == finding


ORDERLY = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(orderly=True),))
NOT_ORDERLY = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(orderly=False),))


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    ("settings", "of_group", "of_clients", "is_orderly"),
    [
        (None, None, False, False),
        (None, None, True, True),
        (None, True, False, True),
        (ORDERLY, False, False, True),
        (NOT_ORDERLY, True, True, False),
    ],
)
def test_orderly_is_what_is_configured_else_what_the_group_or_a_client_says(
    settings: Settings | None, of_group: bool | None, of_clients: bool, is_orderly: bool
) -> None:
    fleet = Fleet(settings=settings, **SILENT)
    fleet.round_fields = {"orderly": of_group}
    fleet.join("x", "y", report={"orderly": of_clients})
    fleet.own("y", "a0 b0-3")
    fleet.run(25)
    both_report(fleet, 30)
    fleet.run(5)
    assert fleet.finding("a0").finding == ("SETTLING" if is_orderly else "DUPLICATED")


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("answered", "finding"), [(304.999, "SETTLING"), (305.0, "DUPLICATED")])
def test_a_report_counts_from_175_s_after_a_broker_came_back(answered: float, finding: str) -> None:
    fleet = running(50, **SILENT)
    fleet.down.add("b")
    fleet.run(75)  # away from 55 s to 130 s
    fleet.restart_brokers("b")
    fleet.own("y", "a0 b0-3")
    fleet.run(answered - fleet.now)
    both_report(fleet, answered)
    fleet.run(5)
    assert fleet.finding("a0").finding == finding


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("answered", "finding"), [(224.999, "SETTLING"), (225.0, "DUPLICATED")])
def test_a_report_counts_from_175_s_after_a_broker_was_added(answered: float, finding: str) -> None:
    fleet = running(45, topics={"T": {"a": 4}}, **SILENT)
    fleet.route(a=4, b=4)
    fleet.run(5)
    fleet.own("y", "a0 b0-3")
    fleet.run(answered - fleet.now)
    both_report(fleet, answered)
    fleet.run(5)
    assert fleet.finding("a0").finding == finding


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("answered", "finding"), [(154.999, "SETTLING"), (155.0, "ORPHANED")])
def test_a_report_counts_from_55_s_after_a_topic_was_first_seen(answered: float, finding: str) -> None:
    """Its members learn of it by their route poll, one after the other; but what was there at first is old."""
    fleet = running(95, how={"topics": {"T": "*", "U": "*"}}, **SILENT)
    fleet.own("y", "", topic="U")
    fleet.route("U", a=1, b=1)
    fleet.run(answered - fleet.now)
    both_report(fleet, answered)
    fleet.run(5)
    assert fleet.finding("b0", "U").finding == finding


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("answered", "finding"), [(151.999, "SETTLING"), (152.0, "ORPHANED")])
def test_or_since_a_member_owned_queues_of_it_before_its_route_came(answered: float, finding: str) -> None:
    fleet = running(95, how={"topics": {"T": "*", "U": "*"}}, **SILENT)
    fleet.own("x", "a0", topic="U")
    fleet.own("y", "", topic="U")
    fleet.report("x", 97)
    fleet.run(5)
    fleet.route("U", a=1, b=1)
    fleet.run(answered - fleet.now)
    both_report(fleet, answered)
    fleet.run(5)
    assert fleet.finding("b0", "U").finding == finding


def test_a_broker_that_misses_a_round_or_two_was_not_away() -> None:
    fleet = running(100)
    before = len(fleet.facts)
    fleet.down.add("b")
    fleet.run(15)
    fleet.down.clear()
    fleet.run(60)
    assert fleet.facts[before:] == []


def test_a_queue_that_looks_right_is_a_match_before_the_grace_is_over() -> None:
    fleet = running(5, **SILENT)
    both_report(fleet, 6)
    fleet.run(5)
    assert set(fleet.findings().values()) == {"MATCH"}


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(("age", "finding"), [(90.0, "DUPLICATED"), (90.001, "UNKNOWN")])
def test_a_report_older_than_90_s_says_nothing(age: float, finding: str) -> None:
    fleet = joined_at_5().run(20)
    both_report(fleet, 135 - age)
    fleet.run(110)
    assert fleet.now == 135
    assert fleet.finding("a0").finding == finding


# --- hold and confirmation


def test_a_critical_finding_fires_when_it_has_held_for_5_s_and_everybody_has_said_it_again() -> None:
    fleet = joined_at_5().run(25)
    fleet.report("x", 31)
    fleet.report("y", 34)
    fleet.run(5)
    assert fleet.alerts("DUPLICATED") == [(35.0, "pending", "found")]
    fleet.run(20)
    fleet.report("y", 56)
    fleet.run(5)
    assert fleet.firing() == set()  # x has not said it again
    fleet.report("x", 61)
    fleet.run(5)
    assert fleet.firing() == {("T", "DUPLICATED")}


def test_said_again_at_once_it_must_still_hold_for_5_s() -> None:
    fleet = Fleet(**SILENT, every=2)
    fleet.join("x", "y")
    fleet.own("y", "a0 b0-3")
    fleet.run(30)
    for _ in range(4):
        both_report(fleet, fleet.now + 1)
        fleet.run(2)
    assert fleet.alerts("DUPLICATED") == [(32.0, "pending", "found"), (38.0, "firing", "held_long_enough")]


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize("moves_at", range(60, 80))
@pytest.mark.parametrize("hands_over", [("x", "y"), ("y", "x")], ids=" to ".join)
def test_a_queue_that_moves_between_two_clients_asked_at_different_instants_never_fires(
    moves_at: int, hands_over: tuple[str, str]
) -> None:
    """Until the one asked first has been asked again, it looks as if it were owned twice, or by nobody."""
    giver, taker = hands_over
    fleet = Fleet(report_every=0, rate=0, every=1)
    fleet.join("x", "y")
    fleet.own(giver, "a0-3")
    fleet.own(taker, "b0-3")
    while fleet.now < 130:
        if fleet.now == moves_at:
            fleet.own(giver, "a1-3")
            fleet.own(taker, "a0 b0-3")
        if fleet.now % 20 == 3:
            fleet.report("x")
        if fleet.now % 20 == 11:
            fleet.report("y")
        fleet.run(1)
    assert {fact.payload.finding for fact in fleet.told(QueueFact)} & {"DUPLICATED", "ORPHANED"}
    assert fleet.fired() - {("T", "MISPLACED")} == set()


# --- settling has an end


def churning(fleet: Fleet, seconds: float) -> None:
    """A client comes or goes every 10 s, so that no grace ever ends, and y clings to a0."""
    until = fleet.now + seconds
    while fleet.now < until:
        fleet.join("z")
        fleet.own("y", "a0 b0-3")
        fleet.run(10)
        fleet.leave("z")
        fleet.own("y", "a0 b0-3")
        fleet.run(10)


def test_a_queue_settles_for_at_most_three_times_the_grace() -> None:
    fleet = running(report_every=5, rate=0)
    churning(fleet, 60)
    assert fleet.alerts("DUPLICATED") == []
    churning(fleet, 60)
    (pending, *_) = fleet.alerts("DUPLICATED")
    assert 65 + 75 < pending[0] <= 65 + 75 + 15


def test_the_settle_limit_is_counted_from_when_the_queue_was_last_judged_by_evidence_that_counts() -> None:
    """Once a long fault is repaired, the next change has its grace again: old reports prove nothing."""
    fleet = running(clients=("x", "y", "z"))
    fleet.own("y", "a0-3 b0-1")  # x's queues are consumed twice, for a long time
    fleet.run(300)
    assert fleet.firing() == {("T", "DUPLICATED")}
    fleet.leave("x", "y")  # z takes over everything at once, and is asked a little later
    fleet.run(120)
    assert fleet.fired() == {("T", "DUPLICATED")}
    assert fleet.firing() == set()


def test_timers_come_from_the_settings() -> None:
    fleet = Fleet(
        settings=Settings(timing=replace(DEFAULT_TIMING, grace_membership_ms=1_000, hold_critical_ms=0)), **SILENT
    )
    fleet.join("x", "y")
    fleet.own("y", "a0 b0-3")
    fleet.run(5)
    both_report(fleet, 6)
    fleet.run(5)
    assert fleet.firing() == {("T", "DUPLICATED")}


def test_a_member_that_leaves_does_not_shorten_the_time_that_a_new_route_is_given() -> None:
    fleet = Fleet(progress_every=0, **SILENT)
    fleet.join("x", "y", "z")
    for client_id, owns in (("x", "a0-3"), ("y", "b0-3"), ("z", "")):
        fleet.own(client_id, owns)
    fleet.run(60)
    fleet.route(a=4, b=5)
    fleet.run(10)
    both_report(fleet, 70)
    fleet.report("z", 70)
    fleet.run(5)
    assert fleet.finding("b4").finding == "SETTLING"  # since 75 s; by its route it may for three times 55 s
    fleet.run(40)
    both_report(fleet, 115)
    fleet.run(40)
    fleet.leave("z")
    fleet.run(5)
    assert fleet.finding("b4").finding == "UNKNOWN"
    fleet.run(20)
    both_report(fleet, 180)
    fleet.run(60)
    assert fleet.finding("b4").finding == "SETTLING"
    fleet.run(10)
    assert fleet.finding("b4").finding == "ORPHANED"
