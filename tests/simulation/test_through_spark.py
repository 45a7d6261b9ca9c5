"""A sample of the incidents through the whole job: fact for fact what the core says of them."""

from pathlib import Path

import pytest

from bench.proof.incidents import play_incident
from schemas.events import decode_event, encode_event
from schemas.facts import Fact
from streaming.config.load import load_config
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.replay.core_engine import core_facts
from streaming.simulation.faults import FAULT_NAMED

SAMPLE = ("not_taken_over", "same_client_id", "stopped", "different_topics")


def events_of(name: str) -> list[bytes]:
    events: list[bytes] = []
    play_incident("s5", FAULT_NAMED[name], DEFAULT_SETTINGS, name, lambda event: events.append(encode_event(event)))
    return events


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_file_of_the_events_gives_what_the_proof_folds_one_by_one(name: str) -> None:
    events = events_of(name)
    group = Group(new_state("simulated", name), DEFAULT_SETTINGS)
    for event in map(decode_event, events):
        take(group, event)
    assert core_facts(events, DEFAULT_SETTINGS) == group.facts
    assert any(fact.payload.fact == "alert" for fact in group.facts)


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_whole_job_says_of_simulated_incidents_what_the_core_says(tmp_path: Path) -> None:
    from streaming.replay.spark_engine import spark_facts
    from streaming.spark.session import build_session

    files = {f"{name}.jsonl": events_of(name) for name in SAMPLE}
    config = load_config(None, {})
    by_group: dict[str, list[Fact]] = {}
    for fact in spark_facts(build_session(), files, config, tmp_path / "tables"):
        by_group.setdefault(fact.group, []).append(fact)
    for name in SAMPLE:
        by_job = sorted(by_group.pop(name), key=lambda fact: fact.seq)
        assert by_job == core_facts(files[f"{name}.jsonl"], config.settings())
    assert by_group == {}
