"""Lists as people read them: equal things together, and not too many names."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items by their key, in the order in which the keys come."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def first_of(names: Sequence[str], most: int = 3) -> str:
    """``x, y and 5 more``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def joined(*parts: str | None, by: str = ": ") -> str:
    """The parts that are not empty, joined."""
    return by.join(part for part in parts if part)
