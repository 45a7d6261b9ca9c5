"""Tables that fit a width: columns that may be cut get narrower, the widest first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from streaming.snapshots.lines import Line
from streaming.wording.names import cut, padded

GAP = 2
NARROWEST = 8


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
