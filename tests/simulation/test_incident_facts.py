"""A sample of the incidents as a file of events: fact for fact what the proof says of them."""

import pytest

from bench.proof.incidents import play_incident
from schemas.events import decode_event, encode_event
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.replay.core_engine import core_facts
from streaming.simulation.faults import FAULT_NAMED

SAMPLE = ("not_taken_over", "same_client_id", "stopped", "different_topics")


def group_of(name: str) -> str:
    return f"incident_{name}"


def events_of(name: str) -> list[bytes]:
    events: list[bytes] = []
    group = group_of(name)
    play_incident("s5", FAULT_NAMED[name], DEFAULT_SETTINGS, group, lambda event: events.append(encode_event(event)))
    return events


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_file_of_the_events_gives_what_the_proof_folds_one_by_one(name: str) -> None:
    events = events_of(name)
    group = Group(new_state("simulated", group_of(name)), DEFAULT_SETTINGS)
    for event in map(decode_event, events):
        take(group, event)
    assert core_facts(events, DEFAULT_SETTINGS) == group.facts
    assert any(fact.payload.fact == "alert" for fact in group.facts)
