"""What each recording must raise, and no more: ``expect.json``.

It lists, for each recording, what must reach ``firing`` (severity critical). The limits were made from what was
measured on the real cluster: ``from_s`` is when the fault began, by the recording's own ``truth`` lines, and
``within_s`` allows for the grace after a join (25 s), two reports, the 5 s for which a critical finding must hold, and
a round. Where nothing must fire, no warning may either. Alerts on retry topics are not counted.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.identity import is_retry_topic
from streaming.demo import RECORDINGS
from streaming.replay.input_file import InputFile, open_input

EXPECTED: dict[str, Any] = json.loads((Path(__file__).parent / "expect.json").read_text())


def open_recording(name: str) -> InputFile:
    return open_input(RECORDINGS / f"{name}.jsonl.gz", pytest.fail)


def check_recording(transitions: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
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
