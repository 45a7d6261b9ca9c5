"""The simulated fleet of the demo: known and well at the start, and broken in one way after the other."""

from itertools import pairwise, takewhile

import pytest

from schemas.facts import AlertFact, AlertState, GroupFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.demo.live_output import LiveOutput
from streaming.demo.recording_schedule import CLUSTER, Scheduled
from streaming.demo.simulated_schedule import APART_MS, GROUPS, WORDS, simulated_schedule
from streaming.replay.core_engine import core_facts
from streaming.simulation.faults import FAULT_NAMED
from streaming.simulation.load.fleet_spec import JOIN, FleetSpec, faults_named, templates_for
from streaming.simulation.load.group_template import GroupTemplate
from tests.demo.values import values

START = 1_800_000_000_000
FAULTS = ("no_read_permission", "different_filters")


@pytest.fixture(scope="module")
def templates() -> list[GroupTemplate]:
    return templates_for(FleetSpec(len(GROUPS), 3, 4, faults=faults_named(FAULTS)))


def play(templates: list[GroupTemplate], seconds: int) -> list[Scheduled]:
    return list(takewhile(lambda one: one.due_ms <= START + 1000 * seconds, simulated_schedule(templates, START)))


def test_there_are_words_for_everything_that_happens_to_a_group() -> None:
    assert set(WORDS) == {*FAULT_NAMED, JOIN} - {"config_misses_queue"}, "its retry topic is nobody's from the start"


@pytest.mark.slow("a recording is folded")
def test_all_groups_are_known_and_healthy_at_once(templates: list[GroupTemplate]) -> None:
    facts = core_facts(values(play(templates, 1)), DEFAULT_SETTINGS)
    status = {fact.group: fact.payload.status for fact in facts if isinstance(fact.payload, GroupFact)}
    assert status == dict.fromkeys(GROUPS, "healthy")
    assert {fact.cluster for fact in facts} == {CLUSTER}


@pytest.mark.slow("a recording is folded")
def test_what_is_due_comes_in_order_and_no_event_before_its_time(templates: list[GroupTemplate]) -> None:
    played = play(templates, 90)
    due = [one.due_ms for one in played]
    assert due == sorted(due)
    assert due[0] == START
    for one in played:
        assert all(event.ts <= one.due_ms for event in one.events)
        assert all((event.cluster, event.group) == (CLUSTER, one.group) for event in one.events)


def test_one_after_the_other_breaks_in_a_new_way(templates: list[GroupTemplate]) -> None:
    actions = [one for one in play(templates, 420) if one.action]
    begun = [one for one in actions if one.action != "mended"]
    assert begun[0].due_ms < START + 10_000
    assert all(b.due_ms - a.due_ms >= APART_MS for a, b in pairwise(begun))
    assert [one.action for one in begun[:3]] == [WORDS["no_read_permission"], WORDS[JOIN], WORDS["different_filters"]]
    assert len({one.action for one in begun[3:6]}) == 3, "all over again"
    assert next(one.group for one in actions if one.action == "mended") == begun[0].group


def test_the_account_tells_what_befell_a_group_and_what_was_found_of_it(templates: list[GroupTemplate]) -> None:
    output, told, played = LiveOutput([], START, GROUPS), [], play(templates, 330)
    facts = core_facts(values(played), DEFAULT_SETTINGS)
    told += [output.action(one.due_ms, one.group, one.action).text for one in played if one.action]
    told += [line.text for line in output.lines_for(facts)]
    victim = next(one.group for one in played if one.action)
    stands = {row[0]: row[1:] for row in output.summary()}
    assert stands[victim] == (f"simulated: {WORDS['no_read_permission']} (mended)", "healthy", "-")
    assert stands[GROUPS[-1]] == ("simulated: all has been well", "healthy", "-")
    assert any(f"FIRING    warning   UNREADABLE_QUEUES  demo/{victim}" in text for text in told)
    assert not any(" settling " in text or " unknown " in text for text in told)


@pytest.mark.slow("a recording is folded")
def test_a_change_that_leaves_state_and_cause_as_they_are_is_not_told(templates: list[GroupTemplate]) -> None:
    facts = core_facts(values(play(templates, 330)), DEFAULT_SETTINGS)
    alerts = [fact for fact in facts if isinstance(fact.payload, AlertFact)]
    firing = next(fact for fact in alerts if fact.payload.state == AlertState.FIRING)
    output = LiveOutput([], START, GROUPS)
    assert len(list(output.lines_for([firing]))) > 1
    assert list(output.lines_for([firing])) == []
