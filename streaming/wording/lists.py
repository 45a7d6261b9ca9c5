"""Lists as people read them: equal things together, and no more names than one can read."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items with the same key together, in the order in which the keys come."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def first_of(names: Sequence[str], most: int = 3) -> str:
    """``x, y and 5 more``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def joined(*parts: str | None, by: str = ": ") -> str:
    """Those parts that say something."""
    return by.join(part for part in parts if part)
