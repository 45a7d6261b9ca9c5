"""Rows of a page on a terminal, and what keeps names from acting there."""

import shutil
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec
from rich.console import Console, Group
from rich.text import Text

from streaming.wording.names import cut, plain, wrapped
from streaming.wording.numbers import ranges

UNWATCHED_WIDTH = 120
NARROWEST = 40
RANGES_WIDTH = 60

T = TypeVar("T")


class Row(NamedTuple):
    """``style``: how it stands out, if it does."""

    text: str
    style: str = ""


def paragraph(text: str, width: int, indent: str, style: str, at_most: int = 0) -> Iterator[Row]:
    """Wrapped; with ``at_most``, no more lines than that."""
    if not text:
        return
    lines = wrapped(text, width - len(indent))
    if at_most and len(lines) > at_most:
        lines = [*lines[: at_most - 1], cut(" ".join(lines[at_most - 1 :]), width - len(indent))]
    for line in lines:
        yield Row(indent + line, style)


def without_tricks(value: T) -> T:
    """A value of structs with every text in it made plain."""
    return msgspec.convert(_plain(msgspec.to_builtins(value)), type(value))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def numbers(queues: Iterable[tuple[str, int]], width: int = RANGES_WIDTH) -> str:
    """``broker-a 0-3 5, broker-b 1``, cut where there is no end to it."""
    return cut(ranges(queues), width)


def width_of(console: Console) -> int:
    """Of a terminal, or of what a log or another command reads."""
    if console.is_terminal:
        return max(NARROWEST, console.width)
    return max(NARROWEST, shutil.get_terminal_size((UNWATCHED_WIDTH, 0)).columns)


def laid_on_screen(rows: Iterable[Row]) -> Group:
    """Rows as rich prints them, each on a line of its own."""
    return Group(*(Text(row.text, style=row.style, no_wrap=True, overflow="ignore", end="\n") for row in rows))
