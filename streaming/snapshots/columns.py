"""Rows of text as columns that fit a width: the flexible ones give way, the widest first."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from streaming.wording.names import cut, cut_middle, padded

GAP = 2
NARROWEST = 8


class Column(NamedTuple):
    """``cut``: how a cell that is too wide is cut; None: it never gives way."""

    head: str
    right: bool = False
    cut: Callable[[str, int], str] | None = None


def text(head: str) -> Column:
    """May lose its end."""
    return Column(head, cut=cut)


def name(head: str) -> Column:
    """May lose its middle."""
    return Column(head, cut=cut_middle)


def number(head: str) -> Column:
    return Column(head, right=True)


def laid_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The heads' line, then a line for each row. Columns in which nothing stands are left out."""
    used = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    columns = [columns[place] for place in used]
    rows = [[row[place] for place in used] for row in rows]
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
    flexible = [place for place, column in enumerate(columns) if column.cut]
    while sum(widths) > room and (wide := [place for place in flexible if widths[place] > NARROWEST]):
        widest = max(wide, key=lambda place: widths[place])
        widths[widest] -= 1
    return widths
