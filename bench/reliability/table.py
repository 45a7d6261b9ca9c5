"""The table of faults that were played, in Markdown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar


class Played(Protocol):
    """A fault that was played once."""

    @property
    def fault(self) -> str: ...


P = TypeVar("P", bound=Played)


def table_of_faults(
    heads: Sequence[str], faults: Iterable[str], played: Sequence[P], cells: Callable[[Sequence[P]], Iterable[str]]
) -> Iterator[str]:
    """A line for each fault, and one for all. ``cells``: of a line, after the fault and how often it was played."""
    yield f"| {' | '.join(heads)} |"
    yield "| --- " + "| ---: " * (len(heads) - 1) + "|"
    lines = [(fault, [one for one in played if one.fault == fault]) for fault in faults]
    for name, some in [*lines, ("all", played)]:
        yield f"| {' | '.join([name, str(len(some)), *cells(some)])} |"
