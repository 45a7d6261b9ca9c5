"""Reads a recording, or a file of evenkeel's own events; the content tells which. Either way, events come out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from schemas.events import Round, encode_event
from streaming.errors import SourceError
from streaming.replay.input_lines import read_lines
from streaming.replay.recording import DEFAULT_CLUSTER, Recording

Warn = Callable[[str], None]


class Counts(Struct):
    """Counts of the lines read so far. ``first_ts``: the time of the first line, epoch ms."""

    events: int = 0
    rounds: int = 0
    first_ts: int | None = None


class InputFile(NamedTuple):
    """An opened file. ``records``: one event each, as in Kafka. ``counts`` grow while they are read."""

    counts: Counts
    records: Iterator[bytes]


def _of_recording(recording: Recording, counts: Counts) -> Iterator[bytes]:
    for event in recording.events():
        counts.events += 1
        counts.rounds += isinstance(event, Round)
        counts.first_ts = recording.first_ts
        yield encode_event(event)
    counts.first_ts = recording.first_ts


class _Head(Struct):
    event: str | None = None
    kind: str | None = None
    ts: int | None = None


_head_decoder = msgspec.json.Decoder(_Head)


def _of_events(path: Path, warn: Warn, counts: Counts) -> Iterator[bytes]:
    """The lines as records. Those that cannot be used go to quarantine, as from Kafka."""
    for line in read_lines(path, warn):
        head = _head(line.text)
        counts.events += 1
        counts.rounds += head.event == "round"
        if counts.first_ts is None:
            counts.first_ts = head.ts
        yield line.text


def _head(text: bytes) -> _Head:
    try:
        return _head_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Head()


def open_input(path: Path, warn: Warn, cluster: str = DEFAULT_CLUSTER) -> InputFile:
    """The file's events; ``cluster`` is for recordings that name none. Raises SourceError for any other file."""
    first = next(iter(read_lines(path, lambda _: None)), None)
    if first is None:
        raise SourceError(f"{path}: is empty: there is nothing to replay")
    head = _head(first.text)
    counts = Counts()
    if head.event is not None:
        return InputFile(counts, _of_events(path, warn, counts))
    if head.kind is not None:
        return InputFile(counts, _of_recording(Recording(path, warn, cluster), counts))
    raise SourceError(
        f"{path}:{first.number}: is neither a recording (JSON lines with `kind`) nor events (JSON lines with `event`)"
    )
