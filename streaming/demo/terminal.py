"""The terminal: colours and a spinner for a person, plain lines for a log."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from textwrap import wrap

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

TICK_S = 1.0
LOG_WIDTH = 160
INDENT = " " * 13
PLAIN_TICKS = 15  # in a log, one line in so many seconds shows that the demo still runs


class Terminal:
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        if not self._console.is_terminal:
            self._console.width = LOG_WIDTH

    def say(self, text: str = "", style: str = "") -> None:
        self._console.print(Text(text, style=style))

    def say_wrapped(self, text: str, style: str = "") -> None:
        """Print one line. On a terminal it is wrapped, and the rest is indented."""
        if not self._console.is_terminal:
            self.say(text, style)
            return
        for line in wrap(text, self._console.width, subsequent_indent=INDENT, break_on_hyphens=False):
            self.say(line, style)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show that ``what`` runs, for how long, and at the end its duration."""
        began, done = time.monotonic(), threading.Event()
        status = self._console.status(Text(f"{what} ...")) if self._console.is_terminal else None
        if status is not None:
            status.start()
        else:
            self.say(f"{what} ...")
        ticker = threading.Thread(target=self._tick, args=(what, began, done, status), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
            if status is not None:
                status.stop()
        self.say(f"{what}: {time.monotonic() - began:.1f} s", "dim")

    def _tick(self, what: str, began: float, done: threading.Event, status: Status | None) -> None:
        ticks = 0
        while not done.wait(TICK_S):
            ticks += 1
            words = f"{what} ... {time.monotonic() - began:.0f} s"
            if status is not None:
                status.update(Text(words))
            elif ticks % PLAIN_TICKS == 0:
                self.say(words)

    def table(self, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        table = Table(*heads, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(table, soft_wrap=False)
