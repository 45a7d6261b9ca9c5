"""The whole job says what the core says: of every scenario, every recording and a sample of simulated incidents.

All in one stream of one Spark, each a group of its own.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from schemas.events import decode_event, encode_event
from schemas.facts import Fact
from schemas.identity import retry_topic
from streaming.config.load import load_config
from streaming.config.sections import Rule
from streaming.replay.alert_transitions import as_json, transitions
from streaming.replay.core_engine import core_facts
from streaming.replay.spark_engine import spark_facts
from tests.core.fleet import T0
from tests.replay.recordings import EXPECTED, check_recording, open_recording
from tests.scenarios.scenario import FILES, check, event_lines, read
from tests.simulation.test_incident_facts import SAMPLE, events_of, group_of


def name_of(path: Path) -> str:
    """A group that is named like the scenario, unless it is a group of RocketMQ's own."""
    return path.stem if read(path).group == "g" else read(path).group


def of_group(path: Path) -> Iterable[bytes]:
    """The events, also of the topics in which messages of POP come back: the group's name is in theirs."""
    named = retry_topic(name_of(path)).encode()
    for line in event_lines(path):
        event = encode_event(msgspec.structs.replace(decode_event(line), group=name_of(path)))
        yield event.replace(b"%RETRY%g_", named + b"_")


def rules() -> tuple[Rule, ...]:
    """Each scenario's, for its own group alone."""
    said = [(name_of(path), rule) for path in FILES for rule in read(path).rules]
    return tuple(Rule(group=group, strategy=rule.strategy, orderly=rule.orderly, **rule.params) for group, rule in said)


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_facts_are_those_of_the_core_and_what_must_fire_fires(spark: SparkSession, tmp_path: Path) -> None:
    config = load_config(None, {}).model_copy(update={"groups": rules()})
    recordings = {name: open_recording(name) for name in EXPECTED}
    files = {
        **{path.stem: list(of_group(path)) for path in FILES},
        **{name: list(recording.records) for name, recording in recordings.items()},
        **{group_of(name): events_of(name) for name in SAMPLE},
    }
    assert len(files) == len(FILES) + len(EXPECTED) + len(SAMPLE), "two have one name"
    told: dict[str, list[Fact]] = {}
    for fact in spark_facts(spark, {f"{name}.jsonl": lines for name, lines in files.items()}, config, tmp_path):
        told.setdefault(fact.group, []).append(fact)

    found: dict[str, list[Fact]] = {}
    for name, lines in files.items():
        by_core = core_facts(lines, config.settings())
        found[name] = sorted(told.pop(by_core[0].group), key=lambda fact: fact.seq)
        assert found[name] == by_core, name
    assert told == {}
    for path in FILES:
        check(read(path), [as_json(transition, T0) for transition in transitions(found[path.stem])])
    for name, recording in recordings.items():
        began = recording.counts.first_ts or 0
        check_recording([as_json(one, began) for one in transitions(found[name])], EXPECTED[name]["firing"])
