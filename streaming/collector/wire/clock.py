"""Two clocks: a steady one for schedules, which setting the machine's clock must not stop, and one for events."""

import time
from collections.abc import Callable

from streaming.wall_clock import now_ms

STEPPED_MS = 1_000  # ordinary corrections, as by NTP, move it by less from round to round


class Clock:
    """``steady_ms`` never steps: what is due when goes by it. ``now_ms`` is the wall clock's time, for events.

    Both are epoch milliseconds. Only ``follow`` lets ``now_ms`` step to where the wall clock is. A small correction
    back makes ``now_ms`` wait instead: an answer must not be older than one that was asked for before it.
    """

    def __init__(self, wall_ms: Callable[[], int] = now_ms, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._wall_ms = wall_ms
        self._monotonic_s = monotonic_s
        self._began_s = monotonic_s()
        self._began_ms = wall_ms()
        self._ahead_ms = 0
        self._newest_ms = 0

    def steady_ms(self) -> int:
        return self._began_ms + round((self._monotonic_s() - self._began_s) * 1000)

    def now_ms(self) -> int:
        self._newest_ms = max(self._newest_ms, self.steady_ms() + self._ahead_ms)
        return self._newest_ms

    def follow(self) -> int:
        """Go by the wall clock again. Returns by how much it was set; 0: it was not set, or only corrected."""
        shown_ms = self.now_ms()
        wall_ms = self._wall_ms()
        self._ahead_ms = wall_ms - self.steady_ms()
        if abs(wall_ms - shown_ms) < STEPPED_MS:
            return 0
        self._newest_ms = wall_ms
        return wall_ms - shown_ms
