"""Lines that fit a notification: if there are too many, the longest section is shortened first."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streaming.notices.language import Noun
from streaming.wording.names import cut

LINES_AT_MOST = 22  # of a notification
LINES_WHEN_OVER = 14
WIDTH = 240  # of a line, in terminal cells; commands and links are never cut
CHARACTERS_AT_MOST = 2 * WIDTH  # combining marks may take no width


class Section(NamedTuple):
    """Lines, the most important first. ``at_least``: the fewest lines shown; the last of them counts those left out.

    ``more``: the noun for what is left out. ``has_head``: the first line stands by itself, and a "more" line never
    follows it alone. ``is_whole``: the lines are useless if they are cut.
    """

    lines: Sequence[str]
    at_least: int = 2
    is_whole: bool = False
    more: Noun = Noun("... and {n} more", "... and {n} more")
    has_head: bool = False

    @property
    def least(self) -> int:
        return self.fitting(min(self.at_least, len(self.lines)))

    def fitting(self, size: int) -> int:
        """The number of lines to show: ``size``, or 1 if a head would be followed by a "more" line alone."""
        return 1 if self.has_head and size == 2 < len(self.lines) else size


def fitted(sections: Sequence[Section], room: int, width: int = WIDTH) -> list[str]:
    """All sections in at most ``room`` lines of ``width`` cells, unless their least sizes need more."""
    sizes = [section.fitting(min(len(section.lines), room)) for section in sections]
    while sum(sizes) > room:
        spare = [place for place, section in enumerate(sections) if sizes[place] > section.least]
        largest = max(spare, key=lambda place: sizes[place])
        sizes[largest] = sections[largest].fitting(sizes[largest] - 1)
    return [line for section, size in zip(sections, sizes, strict=True) for line in _shown(section, size, width)]


def _shown(section: Section, size: int, width: int) -> list[str]:
    lines = list(section.lines if section.is_whole else (cut(line, width) for line in section.lines))
    if size == len(lines) or (size == 1 and section.has_head):
        return lines[:size]
    return [*lines[: size - 1], f"  {section.more(len(lines) - size + 1)}"]


def lines(texts: Iterable[str], more: Noun) -> Section:
    """A section of lines, each cut to the width; it shows as many as there is room for."""
    return Section([cut(text[:CHARACTERS_AT_MOST], WIDTH) for text in texts], more=more)


def line(text: str) -> Section:
    """A section of one line that is always shown, cut to the width."""
    return Section((cut(text[:CHARACTERS_AT_MOST], WIDTH),), 1)


def uncut(text: str) -> Section:
    """A section of one line that is useless if it is cut."""
    return Section((text,), 1, is_whole=True)
