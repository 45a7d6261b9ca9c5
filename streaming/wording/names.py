"""Names that fit on a terminal. No character of a name can act on the terminal."""

from collections import Counter
from collections.abc import Iterable

from rich.cells import cell_len, chop_cells

ELLIPSIS = "…"


def plain(text: str) -> str:
    """The text with control characters, marks that turn text around and half characters written out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def plain_lines(text: str) -> str:
    """Like ``plain``, for a text of several lines."""
    return "\n".join(map(plain, text.split("\n")))


def cut(text: str, width: int) -> str:
    """The beginning of the text that fits."""
    if cell_len(text) <= width:
        return text
    return _head(text, width - 1) + ELLIPSIS if width > 0 else ""


def cut_middle(text: str, width: int) -> str:
    """The text without its middle: client ids differ in their beginning and end."""
    if cell_len(text) <= width or width < 4:
        return cut(text, width)
    tail = (width - 1) // 2
    return _head(text, width - 1 - tail) + ELLIPSIS + _head(text[::-1], tail)[::-1]


def _head(text: str, width: int) -> str:
    return chop_cells(text, width)[0] if width > 0 and text else ""


def padded(text: str, width: int, right: bool = False) -> str:
    gap = " " * max(0, width - cell_len(text))
    return gap + text if right else text + gap


def wrapped(text: str, width: int) -> list[str]:
    """Lines that break between words, and within those that are too long."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *whole, line = chop_cells(word, width) if cell_len(word) > width else [word]
        lines += whole
    return [*lines, line] if line or not lines else lines


def named(client_ids: Iterable[str]) -> str:
    """``x, y``, ``x (2 instances)`` or ``nobody``."""
    counts = Counter(client_ids)
    return ", ".join(one if n == 1 else f"{one} ({n} instances)" for one, n in counts.items()) or "nobody"
