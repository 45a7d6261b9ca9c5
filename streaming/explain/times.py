"""The time that a command gets, and times beside it: in the zone that it names, else in this machine's."""

import re
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from streaming.errors import SourceError
from streaming.wording.times import EPOCH, age, clock

_AGO = re.compile(r"-?(\d{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Moment(NamedTuple):
    """A time. ``ts`` in epoch milliseconds; ``zone``: the zone in which times are shown, None for the machine's own."""

    ts: int
    zone: tzinfo | None

    def clock(self, ts: int) -> str:
        return clock(ts, self.ts, self.zone)

    def since(self, ts: int) -> str:
        return f"{self.clock(ts)} ({age(self.ts - ts)})"


def parse_moment(text: str, now: datetime, zone: tzinfo | None = None) -> Moment:
    """Parse ISO 8601, or ``30m`` (also s, h, d) before ``now``. Raises SourceError for anything else."""
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return Moment(_millis(now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})), zone)
        given = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text))
        if given.tzinfo is not None:
            return Moment(_millis(given), given.tzinfo)
        return Moment(_millis(given.replace(tzinfo=zone) if zone else given.astimezone()), zone)
    except (ValueError, OverflowError):
        raise SourceError(
            f"--at {text}: a time as in 2026-11-21T16:58:03, with +08:00 or Z if it is not of this machine's zone, "
            "or how long ago, as in 30m (s, m, h, d)"
        ) from None


def _millis(when: datetime) -> int:
    return (when - EPOCH) // timedelta(milliseconds=1)
