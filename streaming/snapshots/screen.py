"""Standard output: coloured lines on a terminal, plain ones in a log or a pipe, or JSON."""

import json
import shutil
from collections.abc import Callable, Iterable

import msgspec
from rich.console import Console, Group
from rich.text import Text

from streaming.snapshots.lines import Line

WIDTH_ELSEWHERE = 120  # without a terminal
NARROWEST = 40


def plain_console() -> Console:
    """A console on which no text acts as markup."""
    return Console(highlight=False, markup=False, emoji=False)


def width_of(console: Console) -> int:
    if console.is_terminal:
        return max(NARROWEST, console.width)
    return max(NARROWEST, shutil.get_terminal_size((WIDTH_ELSEWHERE, 0)).columns)


def as_text(lines: Iterable[Line]) -> Group:
    """The output of rich, line by line."""
    return Group(*(Text(line.text, style=line.style, no_wrap=True, overflow="ignore", end="\n") for line in lines))


def json_line(value: msgspec.Struct) -> str:
    return json.dumps(msgspec.to_builtins(value))


def show(lines_of: Callable[[int], Iterable[Line]]) -> None:
    """Print once. ``lines_of`` receives the width."""
    console = plain_console()
    console.print(as_text(lines_of(width_of(console))), soft_wrap=True)
