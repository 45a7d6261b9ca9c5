"""Compressed files that are appended to: each process adds a gzip member (RFC 1952, section 2.2).

A process that was killed leaves its last member unfinished. What another process appends could then not be read.
"""

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from streaming.private_files import appended, opened

CHUNK = 1024 * 1024
WITH_GZIP_HEADER = 31  # wbits of zlib


def open_to_append(path: Path) -> IO[bytes]:
    """The file, to be continued; whole lines of a member that was cut off are kept. Raises OSError."""
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
