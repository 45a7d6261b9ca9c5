"""Shell patterns for groups and clusters: the check if one matches all that another matches."""

import re
from fnmatch import fnmatchcase
from functools import lru_cache

_PARTS = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


@lru_cache(maxsize=4096)
def covers(wide: str, narrow: str) -> bool:
    """True if ``wide`` surely matches every name that ``narrow`` matches. With classes as [a-c] it may be unsure."""
    return _covers(tuple(_PARTS.findall(wide)), tuple(_PARTS.findall(narrow)))


def _covers(wide: tuple[str, ...], narrow: tuple[str, ...]) -> bool:
    """True if covered. ``reached``: how many parts of ``wide`` can have matched the parts of ``narrow`` so far."""
    reached = _past_stars({0}, wide)
    for part in narrow:
        reached = _past_stars({at for one in reached for at in _after(one, wide, part)}, wide)
    return len(wide) in reached


def _after(at: int, wide: tuple[str, ...], part: str) -> tuple[int, ...]:
    if at == len(wide):
        return ()
    if wide[at] == "*":
        return (at,)
    is_letter = len(part) == 1 and part not in "*?"
    takes = wide[at] == part or (wide[at] == "?" and part != "*") or (is_letter and fnmatchcase(part, wide[at]))
    return (at + 1,) if takes else ()


def _past_stars(reached: set[int], wide: tuple[str, ...]) -> set[int]:
    """The numbers with following stars added: a star may also match nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(wide) and wide[at] == "*":
            at += 1
            found.add(at)
    return found
