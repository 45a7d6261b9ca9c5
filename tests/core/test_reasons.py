"""Why did I not get this: what keeps evenkeel from judging, or an alert from firing, is told by name."""

from schemas.facts import QueueFact
from tests.core.fleet import Fleet, not_taken_over, running
from tests.said import why

LEFT = "the list of b changed at 2023-11-14 22:14:25 UTC; evenkeel judges by reports from 2023-11-14 22:14:50 UTC on"


def test_what_settles_says_what_changed_and_until_when() -> None:
    fleet = not_taken_over().run(25)
    told = [fact.payload for fact in fleet.told(QueueFact) if fact.payload.finding == "SETTLING"]
    assert {why(fact) for fact in told} == {LEFT}
    assert (fleet.status().status, why(fleet.status())) == ("settling", LEFT)


def test_a_group_that_is_not_known_says_who_has_not_reported() -> None:
    fleet = not_taken_over()
    fleet.of("y")[0].answers = False
    fleet.run(30)
    assert why(fleet.status()) == "y has not reported since the last change"


def test_or_which_broker_does_not_answer() -> None:
    fleet = running()
    assert why(fleet.status()) is None
    fleet.down.add("b")
    fleet.run(60)
    assert (fleet.status().status, why(fleet.status())) == ("unknown", "no answer from b")


def test_an_empty_group_says_since_when() -> None:
    fleet = Fleet()
    fleet.run(30)
    assert why(fleet.status()) == "no broker lists a member"
    fleet.join("x")
    fleet.run(30)
    fleet.leave("x")
    fleet.run(30)
    assert why(fleet.status()) == "no broker has listed a member since 2023-11-14 22:14:25 UTC"
