"""Files are told by what they hold."""

import gzip
from pathlib import Path

import pytest

from schemas.events import encode_event
from streaming.demo import RECORDINGS
from streaming.errors import SourceError
from streaming.replay.input_file import open_input
from streaming.replay.recording import Recording

GOLDEN = Path(__file__).parent / "golden"


def test_a_recording_gives_its_events() -> None:
    source = open_input(GOLDEN / "two_rounds.jsonl", pytest.fail)
    records = list(source.records)
    assert records == [encode_event(event) for event in Recording(GOLDEN / "two_rounds.jsonl", pytest.fail).events()]
    assert (source.counts.events, source.counts.rounds) == (14, 3)
    assert source.counts.first_ts == 1_700_000_000_000


@pytest.mark.parametrize("compressed", [False, True])
def test_events_are_passed_on_as_they_are(tmp_path: Path, compressed: bool) -> None:
    lines = [*(GOLDEN / "two_rounds.events.jsonl").read_bytes().splitlines(), b'{"event":"round","ts":"soon"}', b"{"]
    path = tmp_path / "events"
    path.write_bytes((gzip.compress if compressed else bytes)(b"\n".join(lines)))
    source = open_input(path, pytest.fail)
    assert list(source.records) == lines
    assert source.counts.first_ts == 1_700_000_001_011
    assert source.counts.rounds == 3, "what cannot be read is not counted as a round"
    assert source.counts.events == 16


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"hello\n", r":1: is neither a recording"),
        (b"\n[1, 2]\n", r":2: is neither a recording"),
        (b'{"some": "json"}\n', r":1: is neither a recording"),
        (bytes(range(256)), r":1: is neither a recording"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=why):
        open_input(path, pytest.fail)


def test_a_folder_is_refused() -> None:
    with pytest.raises(SourceError, match="cannot be read: Is a directory"):
        open_input(RECORDINGS, pytest.fail)
