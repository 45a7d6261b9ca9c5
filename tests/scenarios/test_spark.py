"""Every scenario file through the whole job: one Spark, each scenario a group of its own."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from schemas.events import decode_event, encode_event
from schemas.facts import Fact
from schemas.identity import retry_topic
from streaming.config.load import load_config
from streaming.config.sections import Rule
from streaming.replay.alert_transitions import as_json, transitions
from streaming.replay.core_engine import core_facts
from tests.core.fleet import T0
from tests.scenarios.scenario import FILES, check, event_lines, read


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
def test_what_must_fire_fires_and_nothing_else_does(tmp_path: Path) -> None:
    from streaming.replay.spark_engine import spark_facts
    from streaming.spark.session import build_session

    config = load_config(None, {}).model_copy(update={"groups": rules()})
    files = {f"{path.stem}.jsonl": list(of_group(path)) for path in FILES}
    told: dict[str, list[Fact]] = {name_of(path): [] for path in FILES}
    for fact in spark_facts(build_session(), files, config, tmp_path / "tables"):
        told[fact.group].append(fact)
    for path in FILES:
        facts = sorted(told[name_of(path)], key=lambda fact: fact.seq)
        assert facts == core_facts(files[f"{path.stem}.jsonl"], config.settings()), path.stem
        check(read(path), [as_json(transition, T0) for transition in transitions(facts)])
