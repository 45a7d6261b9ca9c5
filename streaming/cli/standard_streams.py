"""Standard output and standard error of a command. Their reader may have ended, or the disk may be full.

Neither is an error of the command, and neither may look like a result: ``inspect`` ends with 1 if something is wrong.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from streaming.errors import OutputError
from streaming.secret_mask import masked

_STDOUT, _STDERR = 1, 2


class ReaderGone(Exception):
    """The reader of standard output has ended. No BrokenPipeError, because rich ends the process with 1 for that."""


class _Output(io.FileIO):
    """Standard output. Raises ReaderGone or OutputError for the first failed write, and drops later writes."""

    failure: Exception | None = None

    def write(self, data: Any, /) -> Any:
        if self.failure is not None:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            self.failure = ReaderGone()
        except OSError as error:
            self.failure = OutputError(f"standard output cannot be written: {error.strerror or error}")
        raise self.failure


class _Errors(io.FileIO):
    """Standard error. Text that cannot be written is dropped."""

    def write(self, data: Any, /) -> Any:
        try:
            return super().write(data)
        except OSError:
            return len(data)


class _Masked(io.TextIOWrapper):
    """A stream that masks secrets, also in tracebacks. Each text that is printed at once is masked by itself."""

    def write(self, text: str, /) -> int:
        super().write(masked(text))
        return len(text)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Both streams while a command runs. Raises ReaderGone or OutputError if output was lost.

    Streams that were replaced, as under a test, stay as they are. Both write out what a terminal cannot show.
    """
    before = sys.stdout, sys.stderr
    output: _Output | None = None
    if sys.stdout is sys.__stdout__:
        output = _Output(_held(_STDOUT), "w", closefd=False)
        sys.stdout = _text(output, sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Errors(_held(_STDERR), "w", closefd=False), sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")  # names may hold what a terminal cannot show
    try:
        yield
        sys.stdout.flush()
        if output is not None and output.failure is not None:
            raise output.failure  # somebody caught it on its way
    except SystemExit:
        sys.stdout.flush()  # what argparse has printed
        raise
    finally:
        with suppress(ReaderGone, OutputError):
            sys.stdout.flush()
        sys.stdout, sys.stderr = before


def _held(number: int) -> int:
    """The descriptor, opened if it is closed: otherwise the next opened file would get its number and the output."""
    try:
        os.fstat(number)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDONLY)  # to write to it fails
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
    return number


def _text(raw: io.FileIO, like: Any) -> io.TextIOWrapper:
    """A text stream like Python's own; ``like`` is None if the stream was closed when Python started."""
    if like is None:
        return _Masked(io.BufferedWriter(raw), encoding="utf-8")
    like.flush()
    return _Masked(
        io.BufferedWriter(raw),
        encoding=like.encoding,
        line_buffering=like.line_buffering,
        write_through=like.write_through,
    )
