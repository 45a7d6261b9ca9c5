"""The recordings as they are played: moved in time, kept alive, and begun again."""

from collections import Counter
from itertools import pairwise, takewhile

import pytest

from schemas.events import AnyEvent, AssignmentReport, Round, TopicRoute
from schemas.records import group_key
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.demo.recording_schedule import CLUSTER, SCENARIOS, Scenario, Scheduled, load_scenarios, schedule
from streaming.replay.alert_transitions import transitions
from streaming.replay.core_engine import core_facts
from testing.records import accepted
from tests.demo.values import values

START = 1_800_000_000_000


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return load_scenarios(pytest.fail)


def play(scenarios: list[Scenario], seconds: int) -> list[Scheduled]:
    return list(takewhile(lambda one: one.due_ms <= START + 1000 * seconds, schedule(scenarios, START)))


def events_of(played: list[Scheduled], group: str) -> list[AnyEvent]:
    """Those of a group, as the job accepts them."""
    return [
        event
        for one in played
        if one.group == group
        for value in values([one])
        for event in accepted(group_key(CLUSTER, group).encode(), value, one.due_ms)
    ]


def test_what_is_due_comes_in_order_and_starts_at_the_start(scenarios: list[Scenario]) -> None:
    due = [one.due_ms for one in play(scenarios, 30)]
    assert due == sorted(due)
    assert START <= due[0] < START + 3000


@pytest.mark.slow("a demo is played")
def test_every_group_has_a_round_a_second_for_minutes(scenarios: list[Scenario]) -> None:
    played = play(scenarios, 400)
    for scenario in scenarios:
        events = events_of(played, scenario.group)
        assert [event.seq for event in events] == list(range(len(events)))
        markers = [event for event in events if isinstance(event, Round)]
        assert len(markers) == pytest.approx(400, rel=0.07)
        assert all(a.ts < b.ts <= a.ts + 5000 and a.round < b.round for a, b in pairwise(markers))
        assert markers[0].ts >= START
        assert all(broker.answered for marker in markers for broker in marker.brokers)


@pytest.mark.slow("a recording is folded")
def test_no_event_is_ahead_of_the_moment_at_which_it_is_played(scenarios: list[Scenario]) -> None:
    for one in play(scenarios, 120):
        assert all(event.ts <= one.due_ms for event in one.events)


@pytest.mark.slow("a recording is folded")
def test_messages_that_wait_are_no_older_than_the_recording(scenarios: list[Scenario]) -> None:
    (scenario,) = [one for one in scenarios if one.plan.name == "e_subscriptions"]
    markers = [e for e in events_of(play(scenarios, 120), scenario.group) if isinstance(e, Round)]
    queues = [queue for marker in markers for offsets in marker.offsets for queue in offsets.queues]
    consumed = [queue.consumed_ts for queue in queues if queue.consumed_ts]
    assert consumed
    assert all(ts > START - 600_000 for ts in consumed)


@pytest.mark.slow("a recording is folded")
def test_a_client_keeps_its_start_time_while_its_group_is_kept_alive(scenarios: list[Scenario]) -> None:
    (scenario,) = [one for one in scenarios if one.plan.name == "b_kill9"]
    reports = [e for e in events_of(play(scenarios, 200), scenario.group) if isinstance(e, AssignmentReport)]
    starts = Counter((report.client_id, report.start_ts) for report in reports if report.answered)
    assert len(starts) == 3


@pytest.mark.slow("a demo is played")
def test_routes_are_repeated_while_a_group_is_kept_alive(scenarios: list[Scenario]) -> None:
    routes = [e for e in events_of(play(scenarios, 400), scenarios[0].group) if isinstance(e, TopicRoute)]
    assert max(b.ts - a.ts for a, b in pairwise(routes)) < 70_000


@pytest.mark.slow("a demo is played")
def test_only_what_is_broken_fires_and_it_gets_well_when_it_begins_again(scenarios: list[Scenario]) -> None:
    played = play(scenarios, 180)
    fired, resolved = set(), set()
    for scenario in scenarios:
        of_group = values(one for one in played if one.group == scenario.group)
        for one in transitions(core_facts(of_group, DEFAULT_SETTINGS)):
            if one.alert.state == "firing":
                fired.add((scenario.plan.name, one.alert.kind))
            elif one.alert.state == "resolved" and one.alert.fired_ts:
                resolved.add((scenario.plan.name, one.alert.kind))
    assert fired == {
        ("d_sameid", "DUPLICATED"),
        ("d_sameid", "ORPHANED"),
        ("e_subscriptions", "INCONSISTENT_SUBSCRIPTION"),
        ("e_subscriptions", "ORPHANED"),
    }
    assert resolved == {("d_sameid", "DUPLICATED"), ("d_sameid", "ORPHANED")}


def test_deeds_are_those_of_the_recordings(scenarios: list[Scenario]) -> None:
    actions = [one.action for one in play(scenarios, 60) if one.action]
    assert "kill -9 b_kill9-c2" in actions
    assert "expand 4->8 on every broker" in actions
    assert "start d_sameid-c2, instance same on T_d_sameid_50573" in actions
    assert not any("add third" in action for action in actions), "the line after it says more"


def test_every_recording_has_a_plan_and_the_cluster_a_name(scenarios: list[Scenario]) -> None:
    assert len({scenario.group for scenario in scenarios}) == len(SCENARIOS) == 7
    assert {e.cluster for e in events_of(play(scenarios, 5), scenarios[0].group)} == {CLUSTER}
