"""Moments as a page says them: in UTC, since readers sit in several zones and logs are compared with it."""

from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # of the years that have four digits


def moment(ts: int) -> str:
    """``2026-11-21 16:58:03 UTC``."""
    return f"{_utc(ts):%Y-%m-%d %H:%M:%S} UTC"


def clock(ts: int, now: int) -> str:
    """``16:58:03``, with its day in front where that is another than ``now``'s."""
    at = _utc(ts)
    return f"{at:%H:%M:%S}" if at.date() == _utc(now).date() else f"{at:%m-%d %H:%M:%S}"


def _utc(ts: int) -> datetime:
    """A clock that is wrong must not cost the page: what no calendar holds becomes its first or last moment."""
    return _EPOCH + timedelta(milliseconds=min(max(ts, _FIRST), _LAST))
