"""JSON lines into a file: events, or answers as a recording. A disk that is full must not end the probing.

Both have the addresses of clients, so the file is made for its owner alone. One that is there keeps its mode.
"""

import gzip
import logging
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

import msgspec

from schemas.events import AnyEvent, encode_event
from streaming.collector.wire.answers import Line
from streaming.errors import CollectorError
from streaming.private_files import FOLDER_MODE, appended, opened

log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class LinesFile:
    """Lines are appended; a name that ends in ``.gz`` is compressed. Raises CollectorError if it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fails = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
            self._stream = open_to_append(path) if path.suffix == ".gz" else appended(path)
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


CHUNK = 1024 * 1024
WITH_GZIP_HEADER = 31  # wbits of zlib


def open_to_append(path: Path) -> IO[bytes]:
    """A compressed file, to be continued: each process adds a gzip member (RFC 1952, section 2.2). Raises OSError.

    A process that was killed leaves its last member unfinished. What another process appends could then not be read. So
    the whole lines of that member are kept, and it is ended.
    """
    with suppress(FileNotFoundError):
        _mend(path)
    return cast("IO[bytes]", _Appended(path))


class _Appended(gzip.GzipFile):
    """GzipFile closes only a file that it has opened itself, which would follow a link."""

    def __init__(self, path: Path) -> None:
        self._file = appended(path)
        super().__init__(path.stem, "ab", fileobj=self._file)

    def close(self) -> None:
        with self._file:
            super().close()


def _mend(path: Path) -> None:
    """End the last member properly if it was cut off, or drop it if nothing of it can be read."""
    with os.fdopen(opened(path, os.O_RDWR), "r+b") as file:
        began = _unfinished_member(file)
        if began is None:
            return
        with tempfile.TemporaryFile(dir=path.parent) as mended:
            file.seek(began)
            with gzip.open(mended, "wb") as rewritten:
                for lines in _whole_lines(_readable(file)):
                    rewritten.write(lines)
            mended.seek(0)
            file.seek(began)
            file.truncate()
            shutil.copyfileobj(mended, file)


def _unfinished_member(file: BinaryIO) -> int | None:
    """Where the member begins that has no end; None if all have."""
    began, position, member = 0, 0, zlib.decompressobj(WITH_GZIP_HEADER)
    while chunk := file.read(CHUNK):
        position += len(chunk)
        while chunk:
            try:
                member.decompress(chunk)
            except zlib.error:
                return began
            chunk = member.unused_data
            if member.eof:
                began, member = position - len(chunk), zlib.decompressobj(WITH_GZIP_HEADER)
    return began if began < position else None


def _readable(file: BinaryIO) -> Iterator[bytes]:
    member = zlib.decompressobj(WITH_GZIP_HEADER)
    while chunk := file.read(CHUNK):
        try:
            yield member.decompress(chunk)
        except zlib.error:
            return


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        lines, newline, rest = (rest + piece).rpartition(b"\n")
        yield lines + newline
