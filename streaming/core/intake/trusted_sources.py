"""Which producers may send rounds and forget groups, where an operator has listed them."""

from fnmatch import fnmatchcase
from functools import lru_cache

from schemas.events import AnyEvent, Forget, Round
from schemas.quarantine import Rejected


def not_trusted(event: AnyEvent, trusted: tuple[str, ...]) -> Rejected | None:
    """Why the event is refused; None: it may be taken. ``trusted`` are shell patterns; none: every producer may."""
    if not trusted or not isinstance(event, Round | Forget) or _matches(event.source, trusted):
        return None
    return Rejected("not_trusted", f"source {event.source[:200]!r} is not in source.trusted_sources")


@lru_cache(maxsize=1_024)
def _matches(source: str, trusted: tuple[str, ...]) -> bool:
    return any(fnmatchcase(source, pattern) for pattern in trusted)
