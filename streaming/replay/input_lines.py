"""The lines of a file that may be compressed, may be cut off and may not be text at all."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from streaming.errors import SourceError

GZIP_MAGIC = b"\x1f\x8b"
LONGEST_LINE = 64 * 1024 * 1024


class FileLine(NamedTuple):
    """A line. ``number`` counts from 1. ``ends`` false: the file stops within it."""

    number: int
    text: bytes
    ends: bool


def read_lines(path: Path, warn: Callable[[str], None]) -> Iterator[FileLine]:
    """The lines that are not blank. Of a compressed file that is cut off or damaged: those that can be read."""
    try:
        with _open(path) as stream:
            yield from _lines(path, stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        warn(f"{path}: the compressed data end early or are damaged ({error}); going on with what came before")
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        compressed = stream.read(2) == GZIP_MAGIC
    return gzip.open(path, "rb") if compressed else path.open("rb")  # type: ignore[return-value]


def _lines(path: Path, stream: IO[bytes]) -> Iterator[FileLine]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise SourceError(f"{path}:{number}: a line of more than {LONGEST_LINE} bytes: this is not a recording")
        text = line.strip()
        if text:
            yield FileLine(number, text, line.endswith(b"\n"))
