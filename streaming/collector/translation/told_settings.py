"""What markers say of a group's settings and subscriptions: it seldom changes, so most markers leave it out."""

from typing import TypeVar

from streaming.collector.translation.repetition import MARKERS_WITHIN_MS, Told, is_due, told_now

T = TypeVar("T", bool, tuple[str, ...])


class ToldSettings:
    """Of one group: which of its values were told, and when."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._told: dict[str, Told] = {}

    def to_tell(self, field: str, value: T | None, ts: int, about: object = None) -> T | None:
        """The value, or None where the marker at ``ts`` leaves it out.

        ``about``: what else must be as it was when the value was last told.
        """
        if value is None:
            return None
        told, version = self._told.get(field), hash((value, about))
        if not is_due(f"{self._group} {field}", told, version, ts, MARKERS_WITHIN_MS):
            return None
        self._told[field] = told_now(told, version, ts)
        return value

    def set_back(self, by_ms: int) -> None:
        """The clock was set back."""
        self._told = {field: told.set_back(by_ms) for field, told in self._told.items()}

    def tell_all(self) -> None:
        """Tell everything once more."""
        self._told.clear()
