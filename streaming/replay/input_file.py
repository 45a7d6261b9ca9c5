"""What a file holds, told by its content: a recording, or evenkeel's own events. Either way, events come out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from schemas.events import Round, encode_event
from streaming.errors import SourceError
from streaming.replay.input_lines import read_lines
from streaming.replay.recording import DEFAULT_CLUSTER, Recording

Warn = Callable[[str], None]


class Counts(Struct):
    """What was read so far. ``first_ts``: the time of the first line, in epoch milliseconds."""

    events: int = 0
    rounds: int = 0
    first_ts: int | None = None


class ReplaySource(Protocol):
    """A file to replay. ``counts`` grow while ``records`` are taken."""

    counts: Counts

    def records(self) -> Iterator[bytes]:
        """One event a record, as it would stand in Kafka."""


class RecordingSource:
    def __init__(self, path: Path, warn: Warn, cluster: str) -> None:
        self.counts = Counts()
        self._recording = Recording(path, warn, cluster)

    def records(self) -> Iterator[bytes]:
        for event in self._recording.events():
            self.counts.events += 1
            self.counts.rounds += isinstance(event, Round)
            self.counts.first_ts = self._recording.first_ts
            yield encode_event(event)
        self.counts.first_ts = self._recording.first_ts


class _Head(Struct):
    event: str | None = None
    kind: str | None = None
    ts: int | None = None


_head_decoder = msgspec.json.Decoder(_Head)


class EventSource:
    """Lines as they are: what cannot be used goes to the quarantine, as it would from Kafka."""

    def __init__(self, path: Path, warn: Warn) -> None:
        self.counts = Counts()
        self._path = path
        self._warn = warn

    def records(self) -> Iterator[bytes]:
        for line in read_lines(self._path, self._warn):
            head = _head(line.text)
            self.counts.events += 1
            self.counts.rounds += head.event == "round"
            if self.counts.first_ts is None:
                self.counts.first_ts = head.ts
            yield line.text


def _head(text: bytes) -> _Head:
    try:
        return _head_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Head()


def open_source(path: Path, warn: Warn, cluster: str = DEFAULT_CLUSTER) -> ReplaySource:
    """The file's events; ``cluster`` is for recordings that name none. Raises SourceError for any other file."""
    first = next(iter(read_lines(path, lambda _: None)), None)
    if first is None:
        raise SourceError(f"{path}: is empty: there is nothing to replay")
    head = _head(first.text)
    if head.event is not None:
        return EventSource(path, warn)
    if head.kind is not None:
        return RecordingSource(path, warn, cluster)
    raise SourceError(
        f"{path}:{first.number}: is neither a recording (JSON lines with `kind`) nor events (JSON lines with `event`)"
    )
