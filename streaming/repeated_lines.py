"""Lines of a log that others can cause at will: one a minute of each kind, with a count of those that were left out."""

import logging
import time
from collections.abc import Callable

EVERY_S = 60.0
MOST_KINDS = 100


class OnceAMinute(logging.Filter):
    """A filter for a logger. Lines are of one kind if their text is the same before values are filled in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._shown: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = str(record.msg), self._clock()
        at, left_out = self._shown.get(kind, (now - EVERY_S, 0))
        if now - at < EVERY_S:
            self._shown[kind] = (at, left_out + 1)
            return False
        if len(self._shown) >= MOST_KINDS:
            self._shown.clear()
        self._shown[kind] = (now, 0)
        if left_out:
            record.msg = f"{kind.rstrip()} ({left_out} more like this since the last such line)"
        return True
