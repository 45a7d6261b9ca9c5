"""Moments and durations in words.

A moment is in UTC unless a zone is named: readers sit in several zones, and logs are in UTC.
A ``zone`` of None is this machine's.
"""

from datetime import UTC, datetime, timedelta, tzinfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # of the years that have four digits


def moment(ts: int, zone: tzinfo | None = UTC) -> str:
    """``2026-11-21 16:58:03 UTC``, in another zone ``2026-11-22 00:58:03 UTC+08:00``."""
    return f"{_at(ts, zone):%Y-%m-%d %H:%M:%S} {zone_then(ts, zone)}"


def zone_then(ts: int, zone: tzinfo | None = UTC) -> str:
    """The zone's distance from UTC at that time: ``UTC``, ``UTC+08:00``."""
    at = _at(ts, zone)
    return f"UTC{_offset(at) if at.utcoffset() else ''}"


def local(ts: int, zone: tzinfo | None) -> str:
    """`` (2026-11-22 00:58:03 +08:00)``, without the day where that is UTC's; nothing where the zone is at UTC."""
    at = _at(ts)
    try:
        there = at.astimezone(zone)
    except (OverflowError, OSError, ValueError):  # no calendar of that zone holds it
        return ""
    if not there.utcoffset():
        return ""
    day = "" if there.date() == at.date() else f"{there:%Y-%m-%d} "
    return f" ({day}{there:%H:%M:%S} {_offset(there)})"


def clock(ts: int, now: int, zone: tzinfo | None = UTC) -> str:
    """``16:58:03``, with its day in front where that is another than ``now``'s."""
    at = _at(ts, zone)
    return f"{at:%H:%M:%S}" if at.date() == _at(now, zone).date() else f"{at:%m-%d %H:%M:%S}"


def age(milliseconds: int) -> str:
    """``12 s``, ``5 min``, ``3 h``, ``9 d``."""
    seconds = max(0, milliseconds) // 1000
    for limit, divisor, unit in ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // divisor} {unit}"
    return f"{seconds // 86_400} d"


def _at(ts: int, zone: tzinfo | None = UTC) -> datetime:
    """The moment as a datetime. A time outside the calendar becomes its first or last: the page is still sent."""
    return (EPOCH + timedelta(milliseconds=min(max(ts, _FIRST), _LAST))).astimezone(zone)


def _offset(at: datetime) -> str:
    """``+08:00``."""
    return f"{at:%z}"[:3] + ":" + f"{at:%z}"[3:5]
