"""The progress of a long command, on standard error.

A terminal has one line that is written over. A log gets a line now and then, and none of ``waiting``.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

ON_A_TERMINAL_S, IN_A_LOG_S = 0.5, 30.0
BAR = 20
_ERASE = "\r\x1b[K"


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal what is being done while the block lasts, for work whose progress is not known."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True, highlight=False).status(Text(what)):
        yield


class Progress:
    """The progress line. It may be updated at any rate: updates that are not due are left out. A terminal keeps
    nothing.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._is_terminal = self._stream.isatty()
        self._every_s = ON_A_TERMINAL_S if self._is_terminal else IN_A_LOG_S
        self._began = self._said = clock()
        self._is_shown = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.clear()

    def count(self, done: int, total: int | None, what: str) -> None:
        """Show a count. ``what``: the name of the things that are counted. ``total`` None: their number is not
        known.
        """
        if total is None:
            self.say(f"{done} {what}")
            return
        self.say(f"{bar(done, total) if self._is_terminal else ''}{done} of {total} {what}")

    def say(self, text: str) -> None:
        """Show ``text``: in a few words, what is done so far."""
        now = self._clock()
        if now - self._said < self._every_s:
            return
        self._said = now
        line = f"{text}, {now - self._began:.0f} s"
        self._stream.write(f"{_ERASE}{line}" if self._is_terminal else f"evenkeel: {line}\n")
        self._stream.flush()
        self._is_shown = self._is_terminal

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.clear()
        print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Make room for other lines."""
        if self._is_shown:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._is_shown = False


def bar(done: int, total: int) -> str:
    filled = BAR * min(done, total) // max(total, 1)
    return f"[{'#' * filled}{'-' * (BAR - filled)}] "
