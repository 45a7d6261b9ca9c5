"""Facts read back from a Delta table."""

from pathlib import Path

import pytest

from schemas.facts import AlertFact, AlertQueue, Fact, GroupFact, Interval, QueueFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.demo import RECORDINGS
from streaming.replay.core_engine import core_facts
from streaming.replay.input_file import open_input
from streaming.tables.fact_rows import built
from streaming.tables.facts_log import FactsReader
from testing.written import commit

KINDS = (AlertFact, GroupFact)


@pytest.fixture(scope="module")
def facts() -> list[Fact]:
    source = open_input(RECORDINGS / "d_sameid.jsonl.gz", pytest.fail)
    found = core_facts(list(source.records), DEFAULT_SETTINGS)
    return [fact for fact in found if isinstance(fact.payload, KINDS)]


@pytest.mark.slow("tables are written")
def test_facts_come_back_as_they_were_and_once(tmp_path: Path, facts: list[Fact]) -> None:
    table = FactsReader(tmp_path / "facts", KINDS)
    assert table.new() == [], "there is no table yet"
    first, second = facts[:5], facts[5:]
    commit(tmp_path / "facts", first)
    assert table.new() == first
    assert table.new() == []
    commit(tmp_path / "facts", second)
    assert table.new() == second
    assert FactsReader(tmp_path / "facts", KINDS).new() == facts


@pytest.mark.slow("tables are written")
def test_only_the_wanted_kinds_are_read(tmp_path: Path, facts: list[Fact]) -> None:
    commit(tmp_path / "facts", facts)
    kinds = {type(fact.payload) for fact in FactsReader(tmp_path / "facts", [AlertFact]).new()}
    assert kinds == {AlertFact}


def test_nulls_are_defaults_where_there_are_any() -> None:
    row = {"broker_name": "a", "queue_id": 1, "owners": None, "expected": None}
    assert built(AlertQueue, row) == AlertQueue("a", 1)
    interval = {"finding": "MATCH", "cause": None, "owners": ["x"], "expected": None, "from_ts": 1, "to_ts": 2,
                "severity": "none"}  # fmt: skip
    queue = {
        "broker_name": "a", "queue_id": 1, "finding": "ORPHANED", "severity": "critical", "cause": None, "reason": None,
        "owners": [], "expected": ["x"], "since_ts": 1, "present": None, "ended": interval,
    }  # fmt: skip
    assert built(QueueFact, queue) == QueueFact(
        broker_name="a", queue_id=1, finding="ORPHANED", severity="critical", cause=None, reason=None, owners=(),
        expected=("x",), since_ts=1, ended=Interval(
            finding="MATCH", cause=None, owners=("x",), expected=None, from_ts=1, to_ts=2, severity="none"
        ),
    )  # fmt: skip
    status = {"status": "ok", "members": 1, "queues": 1, "counts": [("MATCH", 2)], "brokers_covered": 1,
              "brokers_known": 1, "members_reporting": 1, "reason": None}  # fmt: skip
    assert built(GroupFact, status).counts == {"MATCH": 2}
