"""When the next round begins, and the warning when rounds take longer than their interval."""

from typing import NamedTuple

WARN_EVERY_S = 60


class Next(NamedTuple):
    """``delay_s`` until the next round begins; ``warning`` where rounds are late."""

    delay_s: float
    warning: str | None


class Pace:
    """Rounds begin at fixed times; those that a long round ran over are left out, and never made up for."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._left_out = 0
        self._longest_s = 0.0
        self._said_s: float | None = None

    def ended(self, began_s: float, now_s: float) -> Next:
        """A round that began at ``began_s`` has ended; both on one clock, in seconds."""
        took_s = now_s - began_s
        left_out = int(took_s / self._interval_s)
        delay_s = (left_out + 1) * self._interval_s - took_s
        if not left_out:
            return Next(delay_s, None)
        self._left_out += left_out
        self._longest_s = max(self._longest_s, took_s)
        return Next(delay_s, self._warning(now_s))

    def _warning(self, now_s: float) -> str | None:
        """At once, then at most once a minute."""
        if self._said_s is not None and now_s - self._said_s < WARN_EVERY_S:
            return None
        text = (
            f"a round took {self._longest_s:.1f} s, longer than the interval of {self._interval_s:g} s; "
            f"{self._left_out} left out: raise collector.interval_seconds or watch fewer groups"
        )
        self._said_s, self._left_out, self._longest_s = now_s, 0, 0.0
        return text
