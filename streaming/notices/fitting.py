"""Lines that fit a page: sections give way to each other, the longest first."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streaming.notices.language import Noun
from streaming.wording.names import cut

WIDTH = 240  # of a line, in terminal cells; commands and links are never cut
CHARACTERS_AT_MOST = 2 * WIDTH  # marks may take no room of their own


class Section(NamedTuple):
    """Lines in the order of their worth. ``at_least``: so many are shown, the last of them saying how many are not.

    ``is_whole``: the lines are of no use if they are cut.
    """

    lines: Sequence[str]
    at_least: int = 2
    is_whole: bool = False

    @property
    def least(self) -> int:
        return min(self.at_least, len(self.lines))


def fitted(sections: Sequence[Section], room: int, more: Noun, width: int = WIDTH) -> list[str]:
    """All sections, in at most ``room`` lines of ``width`` cells, if the least of all are no more than that."""
    sizes = [min(len(section.lines), room) for section in sections]
    while sum(sizes) > room:
        spare = [place for place, section in enumerate(sections) if sizes[place] > section.least]
        sizes[max(spare, key=lambda place: sizes[place])] -= 1
    return [line for section, size in zip(sections, sizes, strict=True) for line in _shown(section, size, more, width)]


def _shown(section: Section, size: int, more: Noun, width: int) -> list[str]:
    lines = list(section.lines if section.is_whole else (cut(line, width) for line in section.lines))
    return lines if size == len(lines) else [*lines[: size - 1], f"  {more(len(lines) - size + 1)}"]


def lines(texts: Iterable[str]) -> Section:
    """As many lines as there is room for, each as far as it fits."""
    return Section([cut(text[:CHARACTERS_AT_MOST], WIDTH) for text in texts])


def line(text: str) -> Section:
    """One line that always stands, as far as it fits a line."""
    return Section((cut(text[:CHARACTERS_AT_MOST], WIDTH),), 1)


def uncut(text: str) -> Section:
    """One line that must be whole to be of any use."""
    return Section((text,), 1, is_whole=True)
