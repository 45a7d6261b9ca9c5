"""Every recording raises the alerts that it must raise, in time and for the right cause, and no other."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deltalake import DeltaTable

from streaming.cli import main
from streaming.demo import RECORDINGS
from streaming.explain.read_facts import read_expired, read_group
from streaming.explain.snapshot_from_facts import snapshot_of
from tests.replay.recordings import EXPECTED, check_recording


def replay(name: str, *options: str) -> list[dict[str, Any]]:
    """What ``evenkeel replay --json`` prints."""
    with redirect_stdout(io.StringIO()) as out:
        assert main(["replay", str(RECORDINGS / f"{name}.jsonl.gz"), "--json", *options]) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_every_recording_is_expected_to_do_something_or_nothing() -> None:
    assert sorted(EXPECTED) == sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDINGS.glob("*.jsonl.gz"))


@pytest.mark.deep_rows("a recording is folded")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_core_raises_what_it_must_and_no_more(name: str) -> None:
    check_recording(replay(name, "--engine", "core"), EXPECTED[name]["firing"])


@pytest.mark.deep("a job of its own")
@pytest.mark.spark
@pytest.mark.slow("a Spark of its own")
@pytest.mark.timeout(900)
def test_the_command_prints_json_alone_and_leaves_the_tables(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    command = [sys.executable, "-m", "streaming", "replay", str(RECORDINGS / "d_sameid.jsonl.gz"), "--json"]
    done = subprocess.run([*command, "--tables", str(tables)], capture_output=True, text=True, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    check_recording(told, EXPECTED["d_sameid"]["firing"])
    assert told == replay("d_sameid", "--engine", "core")
    assert DeltaTable(tables / "alerts").to_pyarrow_table().num_rows == len(told)
    by_facts = snapshot_of(read_group(str(tables), told[0]["group"], None, None))
    by_tables = snapshot_of(read_expired(str(tables), told[0]["group"], None, None))
    assert by_tables.alerts, "tables that outlive the facts explain alike"
    assert msgspec.structs.replace(by_tables, changes=by_facts.changes) == by_facts
