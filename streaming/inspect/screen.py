"""Pictures on standard output: coloured where someone watches, plain where a log or another command reads."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from streaming.inspect.cluster_text import lines_of
from streaming.inspect.snapshot import ClusterSnapshot
from streaming.snapshots.lines import laid_on_screen, width_of


@dataclass(frozen=True)
class DisplayOptions:
    """How pictures are shown. ``asked_for``: groups were named, so each of them is shown in full."""

    as_json: bool = False
    asked_for: bool = False
    verbose: bool = False


class Screen:
    def __init__(self, manner: DisplayOptions, console: Console | None = None) -> None:
        self._manner = manner
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._last: list[ClusterSnapshot] = []

    def show(self, pictures: list[ClusterSnapshot]) -> None:
        self._last = pictures
        if self._manner.as_json:
            for line in json_lines(pictures):
                print(line, flush=True)
        elif self._live is not None:
            self._live.update(self._page(pictures), refresh=True)
        else:
            self._console.print(self._page(pictures), soft_wrap=True)

    @contextmanager
    def redrawn(self) -> Iterator[None]:
        """On a terminal, each picture takes the place of the one before, as far as it fits; the last one stays."""
        if self._manner.as_json or not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, screen=True, auto_refresh=False, vertical_overflow="crop") as self._live:
            yield
        self._live = None
        self.show(self._last)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Say on standard error, where someone watches, that an answer is on its way."""
        console = Console(stderr=True, highlight=False)
        if not console.is_terminal:
            yield
            return
        with console.status(Text(what)):
            yield

    def _page(self, pictures: list[ClusterSnapshot]) -> Group:
        width = width_of(self._console)
        return laid_on_screen(
            row
            for picture in pictures
            for row in lines_of(picture, width, self._manner.asked_for, self._manner.verbose)
        )


def json_lines(pictures: list[ClusterSnapshot]) -> Iterator[str]:
    """One object a group."""
    for picture in pictures:
        for group in picture.groups:
            yield json.dumps(msgspec.to_builtins(group))
