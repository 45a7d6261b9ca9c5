"""Evaluation: a fault of ours in one group is a fact and harms no other; a group at rest is left alone, honestly."""

import pytest

from schemas.facts import EvaluationFailedFact, GroupFact
from streaming.core import evaluation
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.group_status import REPEAT_STATUS_MS
from streaming.core.settings import GroupRule, Settings
from streaming.core.shard import fold
from tests.core.fleet import Fleet, record_of, running
from tests.said import why

BROKEN = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(group="bad", strategy="MACHINE_ROOM", params={"rooms": 7}),))


def joined(group: str = "bad", settings: Settings = BROKEN) -> Fleet:
    fleet = Fleet(settings=settings, group=group)
    fleet.join("x", "y")
    return fleet


def test_a_group_whose_evaluation_raises_is_unknown_and_says_so_once() -> None:
    fleet = joined().run(60)
    (failed,) = fleet.told(EvaluationFailedFact)
    assert failed.payload.error.startswith("ValueError: MACHINE_ROOM")
    assert ":" in failed.payload.where
    assert (fleet.status().status, why(fleet.status())) == (
        "unknown",
        "evenkeel failed to evaluate the group",
    )


def test_when_it_succeeds_again_the_group_is_judged_again() -> None:
    fleet = joined().run(60)
    fleet.settings = DEFAULT_SETTINGS
    fleet.run(30)
    assert fleet.status().status == "healthy"
    fleet.settings = BROKEN
    fleet.join("z")
    fleet.run(30)
    assert len(fleet.told(EvaluationFailedFact)) == 2


def test_a_fault_in_one_group_harms_no_other() -> None:
    bad, good = joined().run(60), joined("good").run(60)
    mixed = [event for pair in zip(bad.events, good.events, strict=True) for event in pair]
    records = [record_of(event, offset) for offset, event in enumerate(mixed)]
    folded = fold(None, records, BROKEN)
    assert [fact for fact in folded.facts if fact.group == "good"] == good.facts
    assert [fact for fact in folded.facts if fact.group == "bad"] == bad.facts


def test_an_open_alert_outlives_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = joined("g").run(60)
    fleet.own("y", "a0-3 b0-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}

    def fault(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "find_group_findings", fault)
        fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}
    fleet.run(30)
    assert fleet.firing() == {("T", "DUPLICATED")}
    assert fleet.status().status == "findings"


def evaluations(fleet: Fleet, seconds: float, monkeypatch: pytest.MonkeyPatch) -> int:
    count = 0
    judge_topics = evaluation.judge_topics

    def counted(*args: object) -> object:
        nonlocal count
        count += 1
        return judge_topics(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "judge_topics", counted)
        fleet.run(seconds)
    return count


def test_a_group_at_rest_is_hardly_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = joined("g").run(400)
    assert evaluations(fleet, 600, monkeypatch) <= 600 / 60
    fleet.own("y", "a0-3 b0-3")
    assert evaluations(fleet, 100, monkeypatch) >= 15


STATUSES = [
    (lambda fleet: None, "healthy"),
    (lambda fleet: fleet.own("y", "a0 b0-3"), "findings"),
    (lambda fleet: fleet.down.add("a"), "unknown"),
    (lambda fleet: fleet.leave("x", "y"), "empty"),
    (lambda fleet: setattr(fleet.of("x")[0], "answers", False), "unknown"),
]


@pytest.mark.parametrize(("change", "status"), STATUSES, ids=[status for _, status in STATUSES])
def test_the_status_of_a_group(change: object, status: str) -> None:
    fleet = running(rate=0)
    change(fleet)  # type: ignore[operator]
    fleet.run(120)
    assert fleet.status().status == status


def test_a_group_settles_after_a_change() -> None:
    fleet = running(rate=0)
    fleet.join("z", answers=False)
    fleet.run(10)
    assert fleet.status().status == "settling"


def test_a_status_is_told_when_it_changes_only() -> None:
    fleet = joined("g").run(600)
    told = [fact.payload for fact in fleet.told(GroupFact)]
    assert [payload.status for payload in told] == ["settling", "healthy"]


def test_a_group_at_rest_is_told_of_once_an_hour_and_only_while_its_rounds_come() -> None:
    fleet = running(120)
    known = len(fleet.facts)
    fleet.idle(2 * 3600)
    told = fleet.facts[known:]
    assert [type(fact.payload) for fact in told] == [GroupFact, GroupFact]
    assert [fact.payload.status for fact in fleet.told(GroupFact)][-2:] == ["healthy", "healthy"]
    assert told[1].ts - told[0].ts == REPEAT_STATUS_MS
