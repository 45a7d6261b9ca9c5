"""What users have reported, and what must stay silent: every scenario file through the core."""

from pathlib import Path

import msgspec
import pytest

from schemas.events import decode_event
from schemas.facts import AlertFact, Cause, Kind
from schemas.observed import parts_of
from streaming.core.causes.table import CAUSES
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from tests.core.fleet import queues
from tests.scenarios.scenario import FILES, check, event_lines, lines_of, play, read

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@every_file
def test_what_must_fire_fires_in_time_for_its_cause_and_nothing_else_does(path: Path) -> None:
    scenario = read(path)
    fleet = play(scenario)
    check(scenario, lines_of(fleet))
    for want in scenario.finds:
        for queue in queues(want.queues, want.topic):
            found = fleet.finding(f"{queue.broker_name}{queue.queue_id}", want.topic)
            assert (found.finding, found.cause) == (want.finding, want.cause), queue
    if scenario.counts is not None:
        assert fleet.status().counts == scenario.counts
    for fact in fleet.told(AlertFact):
        assert_shown(fact.payload)


def assert_shown(alert: AlertFact) -> None:
    """Every alert has evidence, and what shows its cause is of a kind that the table of causes names."""
    assert alert.observed is not None
    kinds = {type(part) for part in parts_of(alert.observed)}
    if alert.cause is not None:
        assert kinds & set(CAUSES[Cause(alert.cause)].shown_by), alert
    assert kinds, alert


def test_every_finding_and_cause_has_an_example() -> None:
    scenarios = [read(path) for path in FILES]
    expected = [(one.kind, one.cause) for scenario in scenarios for one in scenario.fires]
    expected += [(one.finding, one.cause) for scenario in scenarios for one in scenario.finds]
    expected += [(kind, None) for scenario in scenarios for kind in scenario.counts or ()]
    assert {kind for kind, _ in expected} == set(Kind)
    assert {cause for _, cause in expected if cause is not None} == set(Cause)


@pytest.mark.slow("a tenth of a second of work and more")
def test_a_scenario_as_json_lines_is_the_same_scenario() -> None:
    path = next(path for path in FILES if path.stem == "same_client_id")
    group = Group(new_state("c", "g"), read(path).settings)
    for line in event_lines(path):
        take(group, decode_event(line))
    assert group.facts == play(read(path)).facts


@pytest.mark.parametrize(
    "spoilt",
    [
        {"cause": "UNEXPLAINED"},
        {"queues": "a0-1"},
        {"severity": "warning"},
        {"within": 1},
        {"until": None},
        {"until": 100},
        {"kind": "ORPHANED"},
        {"topic": "U"},
    ],
    ids=str,
)
def test_a_scenario_that_expects_something_else_fails(spoilt: dict[str, object]) -> None:
    """The judge itself must be able to say no."""
    path = next(path for path in FILES if path.stem == "same_client_id")
    scenario = read(path)
    lines = lines_of(play(scenario))
    check(scenario, lines)
    fires = (msgspec.structs.replace(scenario.fires[0], **spoilt), *scenario.fires[1:])
    with pytest.raises(AssertionError):
        check(msgspec.structs.replace(scenario, fires=fires), lines)


def test_a_scenario_that_expects_nothing_fails_where_something_fires() -> None:
    path = next(path for path in FILES if path.stem == "same_client_id")
    scenario = msgspec.structs.replace(read(path), fires=())
    with pytest.raises(AssertionError, match="nothing else"):
        check(scenario, lines_of(play(scenario)))
