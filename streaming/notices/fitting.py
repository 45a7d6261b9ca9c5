"""Lines that fit a page: sections give way to each other, the longest first."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streaming.notices.language import Noun
from streaming.wording.names import cut

LINES_AT_MOST = 22  # of a page
LINES_WHEN_OVER = 14
WIDTH = 240  # of a line, in terminal cells; commands and links are never cut
CHARACTERS_AT_MOST = 2 * WIDTH  # marks may take no room of their own


class Section(NamedTuple):
    """Lines in the order of their worth. ``at_least``: so many are shown, the last of them saying how many are not.

    ``more``: what is left out. ``has_head``: the first line stands by itself, and nothing is "more" than that alone.
    ``is_whole``: the lines are of no use if they are cut.
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
        """``size``, or less where so many lines would say that there are more than none."""
        return 1 if self.has_head and size == 2 < len(self.lines) else size


def fitted(sections: Sequence[Section], room: int, width: int = WIDTH) -> list[str]:
    """All sections, in at most ``room`` lines of ``width`` cells, if the least of all are no more than that."""
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
    """As many lines as there is room for, each as far as it fits."""
    return Section([cut(text[:CHARACTERS_AT_MOST], WIDTH) for text in texts], more=more)


def lines_under(head: str, texts: Iterable[str], more: Noun, at_least: int) -> Section:
    """The same under a line that always stands."""
    return lines([head, *texts], more)._replace(at_least=at_least, has_head=True)


def line(text: str) -> Section:
    """One line that always stands, as far as it fits a line."""
    return Section((cut(text[:CHARACTERS_AT_MOST], WIDTH),), 1)


def uncut(text: str) -> Section:
    """One line that must be whole to be of any use."""
    return Section((text,), 1, is_whole=True)
