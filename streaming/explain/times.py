"""Times as people write and read them: in the zone they name, else in that of this machine."""

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple

from streaming.errors import SourceError
from streaming.wording.numbers import age

_AGO = re.compile(r"-?(\d{1,9})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Moment(NamedTuple):
    """``ts`` in epoch milliseconds; ``zone``: in which times are shown, None for the machine's own."""

    ts: int
    zone: tzinfo | None


def parse_moment(text: str, now: datetime, zone: tzinfo | None = None) -> Moment:
    """ISO 8601, or ``30m`` (also s, h, d) before ``now``. Raises SourceError for anything else."""
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
    return (when - _EPOCH) // timedelta(milliseconds=1)


def local(ts: int, zone: tzinfo | None) -> datetime:
    """The moment in the zone; None: the machine's."""
    return (_EPOCH + timedelta(milliseconds=ts)).astimezone(zone)


def full(ts: int, zone: tzinfo | None) -> str:
    """``2026-11-21 16:58:03 UTC+08:00``."""
    when = local(ts, zone)
    offset = f"{when:%z}"
    shown = "UTC" if not when.utcoffset() else f"UTC{offset[:3]}:{offset[3:5]}"
    return f"{when:%Y-%m-%d %H:%M:%S} {shown}"


def clock(ts: int, now: int, zone: tzinfo | None) -> str:
    """``16:58:03``, with its day in front where that is another than ``now``'s."""
    when = local(ts, zone)
    return f"{when:%H:%M:%S}" if when.date() == local(now, zone).date() else f"{when:%m-%d %H:%M:%S}"


class When(NamedTuple):
    """The time of an explanation, and the zone in which it shows times."""

    ts: int
    zone: tzinfo | None

    def clock(self, ts: int) -> str:
        return clock(ts, self.ts, self.zone)

    def since(self, ts: int) -> str:
        return f"{self.clock(ts)} ({age(self.ts - ts)})"
