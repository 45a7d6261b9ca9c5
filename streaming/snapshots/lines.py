"""Lines of text for a terminal, and tables that fit its width. No name in them can act on it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from rich.cells import cell_len

from streaming.wording.names import cut, padded, plain, wrapped
from streaming.wording.numbers import ranges

INDENT = "  "
DEEPER = "    "
RANGES_WIDTH = 60
GAP = 2  # between columns
NARROWEST = 8  # of a column

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


class Column(NamedTuple):
    """A column. ``cut``: how a cell that is too wide is cut; None: it is never cut."""

    head: str
    right: bool = False
    cut: Callable[[str, int], str] | None = None


class Row(NamedTuple):
    """A row. ``cells``: by the heads of their columns."""

    cells: Mapping[str, str]
    style: str = ""


def table(columns: Sequence[Column], rows: Sequence[Row], width: int) -> Iterator[Line]:
    """The heads in bold, then a line for each row. Empty without rows."""
    if rows:
        cells = [[row.cells.get(column.head, "") for column in columns] for row in rows]
        yield from map(Line, laid_out(columns, cells, width), ["bold", *(row.style for row in rows)])


def laid_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The heads' line, then a line for each row. Empty columns are left out."""
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    columns = [columns[index] for index in used]
    rows = [[row[index] for index in used] for row in rows]
    widths = _widths(columns, rows, width - GAP * (len(columns) - 1))
    lines = [[column.head for column in columns], *rows]
    return [cut(_line(columns, line, widths), width) for line in lines]


def _line(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = (
        padded(column.cut(cell, wide) if column.cut else cell, wide, column.right)
        for column, cell, wide in zip(columns, cells, widths, strict=True)
    )
    return (" " * GAP).join(shown).rstrip()


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    widths = [
        max(cell_len(cell) for cell in cells) for cells in zip([column.head for column in columns], *rows, strict=True)
    ]
    flexible = [index for index, column in enumerate(columns) if column.cut]
    while sum(widths) > room and (wide := [index for index in flexible if widths[index] > NARROWEST]):
        widest = max(wide, key=lambda index: widths[index])
        widths[widest] -= 1
    return widths
