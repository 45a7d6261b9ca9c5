"""Groups of a real RocketMQ 5.3.3, recorded by ``evenkeel collect --record`` during what was once told wrongly.

``trials``: ``tests/real/trials.py`` says what was done; the collector was killed once and started again.
``mismatches``: for five minutes two processes of one client id, and two applications in one group of which each
subscribes to a topic of its own.
"""

from pathlib import Path

import pytest

from schemas.facts import AlertFact
from streaming.core.settings import Settings
from streaming.replay.engines import core_facts
from streaming.replay.source import open_source

FOLDER = Path(__file__).parent / "clusters"
RECORDINGS = ("mismatches-5.3.3.jsonl.gz", "trials-5.3.3.jsonl.gz")

Alerts = dict[str, list[AlertFact]]


@pytest.fixture(scope="module")
def fired() -> Alerts:
    """Everything that was told of alerts which fired, by group, in order."""
    found: Alerts = {}
    for name in RECORDINGS:
        source = open_source(FOLDER / name, pytest.fail)
        for fact in core_facts(list(source.records()), Settings()):
            told = found.setdefault(fact.group, [])
            if isinstance(fact.payload, AlertFact) and fact.payload.fired_ts:
                told.append(fact.payload)
    return found


@pytest.mark.parametrize("group", ["batch", "crowd", "slow"])
def test_what_is_well_calls_nobody(group: str, fired: Alerts) -> None:
    """Listeners that take three minutes, or always two and a half; eight clients of one address that stop at once."""
    assert fired[group] == []
