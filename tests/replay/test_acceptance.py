"""Every recording raises the alerts that it must raise, in time and for the right cause, and no other.

``expect.json`` lists, for each recording, what must reach ``firing`` (severity critical). The limits were made from
what was measured on the real cluster: ``from_s`` is when the fault began, by the recording's own ``truth`` lines, and
``within_s`` allows for the grace after a join (25 s), two reports, the 5 s for which a critical finding must hold, and
a round. Where nothing must fire, no warning may either. Alerts on retry topics are not counted.
"""

import argparse
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from schemas.identity import is_retry_topic
from streaming.demo import RECORDINGS
from streaming.replay.command import add_command

EXPECTED: dict[str, Any] = json.loads((Path(__file__).parent / "expect.json").read_text())


def replay(name: str, *options: str) -> list[dict[str, Any]]:
    """What ``evenkeel replay --json`` prints."""
    parser = argparse.ArgumentParser()
    add_command(parser.add_subparsers())
    arguments = parser.parse_args(["replay", str(RECORDINGS / f"{name}.jsonl.gz"), "--json", *options])
    with redirect_stdout(io.StringIO()) as out:
        assert arguments.run(arguments) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def check(transitions: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    fired = [t for t in transitions if t["state"] == "firing" and not is_retry_topic(t["topic"] or "")]
    critical = [t for t in fired if t["severity"] == "critical"]
    for want in expected:
        (first, *_) = [t for t in critical if (t["kind"], t["topic"]) == (want["kind"], want["topic"])]
        assert want["from_s"] <= first["at_s"] <= want["from_s"] + want["within_s"]
        assert sorted(first["queues"]) == sorted(want["queues"])
        assert first["cause"] in want["causes"]
    wanted = {(want["kind"], want["topic"]) for want in expected}
    assert [t for t in critical if (t["kind"], t["topic"]) not in wanted] == []
    if not expected:
        assert [t for t in fired if t["severity"] == "warning"] == []


def test_every_recording_is_expected_to_do_something_or_nothing() -> None:
    assert sorted(EXPECTED) == sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDINGS.glob("*.jsonl.gz"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_core_raises_what_it_must_and_no_more(name: str) -> None:
    check(replay(name, "--engine", "core"), EXPECTED[name]["firing"])
