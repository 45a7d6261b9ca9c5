"""JSON lines into a file: events, or answers as a recording. A disk that is full must not end the probing.

Both have the addresses of clients, so the file is made for its owner alone. One that is there keeps its mode.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import msgspec

from schemas.events import AnyEvent, encode_event
from streaming.collector.output.gzip_append import open_to_append
from streaming.collector.wire.answers import Line
from streaming.errors import CollectorError
from streaming.private_files import FOLDER_MODE, appended

log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class LinesFile:
    """Lines are appended; a name that ends in ``.gz`` is compressed. Raises CollectorError if it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fails = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
            self._stream = _open(path)
        except OSError as error:
            raise CollectorError(f"{path}: cannot be written: {error.strerror or error}") from error

    def emit(self, events: Iterable[AnyEvent]) -> None:
        self._write(b"".join(encode_event(event) + b"\n" for event in events))

    def record(self, line: Line) -> None:
        """One answer, as ``evenkeel replay`` reads it."""
        self._write(_encode(line) + b"\n")

    def close(self) -> None:
        try:
            self._stream.close()
        except OSError as error:
            log.error("%s: the end is missing: %s", self.path, error.strerror or error)

    def _write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except OSError as error:
            if not self._fails:
                log.error("%s: cannot be written, lines are lost: %s", self.path, error.strerror or error)
            self._fails = True
        else:
            self._fails = False


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return open_to_append(path)
    return appended(path)
