"""An operator forgets a group that was retired: its alerts end at once, and it does not come back by itself."""

import pytest

from schemas.events import Forget
from schemas.facts import AlertFact, Fact, MemberFact
from tests.core.fleet import T0, Fleet, running, said

OPERATOR = "forget ops 7 1"


def forget(fleet: Fleet, at: float | None = None, source: str = OPERATOR) -> list[Fact]:
    kept, fleet.source, seq = fleet.source, source, fleet.seq
    told = fleet.say(Forget, at, who="ada@ops")
    fleet.source, fleet.seq = kept, seq  # it is a producer of its own
    return told


def retired() -> Fleet:
    fleet = running()
    fleet.leave("x", "y")
    fleet.run(200)
    assert fleet.firing() == {("", "NO_MEMBERS")}
    return fleet


def test_open_alerts_end_at_once_and_say_who_forgot_them() -> None:
    fleet = retired()
    (told,) = [fact for fact in forget(fleet) if isinstance(fact.payload, AlertFact)]
    alert = told.payload
    assert (alert.state, alert.reason, alert.resolved_ts) == ("resolved", "forgotten", fleet.state.now)
    assert said(alert).startswith("retired by ada@ops (evenkeel forget); before: no broker lists a member")
    assert fleet.state.alerts == []


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_retired_group_does_not_nag_again_though_messages_keep_coming() -> None:
    fleet = retired()
    forget(fleet)
    told = len(fleet.facts)
    fleet.idle(8000)
    assert [f for f in fleet.facts[told:] if isinstance(f.payload, AlertFact)] == []


def test_members_that_nobody_lists_are_dropped_and_those_that_live_stay() -> None:
    fleet = running(clients=("x", "y", "z"))
    fleet.leave("z")
    fleet.run(30)
    forget(fleet)
    assert [client.client_id for client in fleet.state.clients] == ["x", "y"]
    told = len(fleet.facts)
    fleet.run(120)
    assert fleet.fired() == set()
    assert [f for f in fleet.facts[told:] if isinstance(f.payload, MemberFact)] == []


def test_what_is_still_wrong_with_a_group_that_lives_is_found_again() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.own("y", "")
    fleet.run(90)
    assert fleet.firing() == {("T", "ORPHANED")}
    forget(fleet)
    assert fleet.firing() == set()
    fleet.run(60)
    assert fleet.firing() == {("T", "ORPHANED")}


def test_no_producer_misses_anything_by_it() -> None:
    fleet = retired()
    forget(fleet)
    fleet.run(60)
    assert not [fact for fact in fleet.facts if fact.payload.fact == "events_lost"]


def test_it_waits_for_no_clock_and_comes_in_time_though_the_group_has_no_rounds_any_more() -> None:
    fleet = retired()
    forget(fleet, at=fleet.now + 86_400)
    assert fleet.state.alerts == []
    assert fleet.state.now == T0 + 260_000


def test_the_same_one_again_later_ends_nothing() -> None:
    fleet = running()
    forget(fleet)
    again = fleet.events[-1]
    fleet.own("y", "")
    fleet.run(90)
    fleet.take(again)
    assert fleet.firing() == {("T", "ORPHANED")}


def test_of_a_group_that_is_not_known_nothing_is_told() -> None:
    assert forget(Fleet()) == []
