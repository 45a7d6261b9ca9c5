"""Moments as a page says them: in UTC, since readers sit in several zones and logs are compared with it."""

from datetime import datetime, timedelta, timezone, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # of the years that have four digits


def moment(ts: int) -> str:
    """``2026-11-21 16:58:03 UTC``."""
    return f"{_utc(ts):%Y-%m-%d %H:%M:%S} UTC"


def local(ts: int, zone: tzinfo | None) -> str:
    """`` (2026-11-22 00:58:03 +08:00)``, without the day where that is UTC's; nothing where the zone is at UTC.

    ``zone``: None is this machine's.
    """
    at = _utc(ts)
    try:
        there = at.astimezone(zone)
    except (OverflowError, OSError, ValueError):  # no calendar of that zone holds it
        return ""
    if not there.utcoffset():
        return ""
    day = "" if there.date() == at.date() else f"{there:%Y-%m-%d} "
    offset = f"{there:%z}"
    return f" ({day}{there:%H:%M:%S} {offset[:3]}:{offset[3:5]})"


def clock(ts: int, now: int) -> str:
    """``16:58:03``, with its day in front where that is another than ``now``'s."""
    at = _utc(ts)
    return f"{at:%H:%M:%S}" if at.date() == _utc(now).date() else f"{at:%m-%d %H:%M:%S}"


def _utc(ts: int) -> datetime:
    """A clock that is wrong must not cost the page: what no calendar holds becomes its first or last moment."""
    return _EPOCH + timedelta(milliseconds=min(max(ts, _FIRST), _LAST))
