"""Lines of text for a terminal. No name in them can act on it."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from streaming.wording.names import cut, plain, wrapped
from streaming.wording.numbers import ranges

INDENT = "  "
DEEPER = "    "
RANGES_WIDTH = 60

T = TypeVar("T")


class Line(NamedTuple):
    """A line. ``style``: rich's, such as "bold red"."""

    text: str
    style: str = ""


def paragraph(text: str, width: int, indent: str, style: str, at_most: int = 0) -> Iterator[Line]:
    """Lines of wrapped text; ``at_most``: the maximum number of lines."""
    if not text:
        return
    lines = wrapped(text, width - len(indent))
    if at_most and len(lines) > at_most:
        lines = [*lines[: at_most - 1], cut(" ".join(lines[at_most - 1 :]), width - len(indent))]
    for line in lines:
        yield Line(indent + line, style)


def indented(lines: Iterable[Line]) -> Iterator[Line]:
    for line in lines:
        yield Line(INDENT + line.text, line.style)


def without_control_characters(value: T) -> T:
    """A copy in which control characters of every text are written out."""
    return msgspec.convert(_plain(msgspec.to_builtins(value)), type(value))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def short_ranges(queues: Iterable[tuple[str, int]]) -> str:
    """``broker-a 0-3 5, broker-b 1``, cut where it is too long."""
    return cut(ranges(queues), RANGES_WIDTH)
