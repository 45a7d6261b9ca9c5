"""Times as people read them."""

from datetime import UTC, datetime, timedelta, timezone

from streaming.wording.times import clock, moment

BEIJING = timezone(timedelta(hours=8))


def ts(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]


def test_times_are_shown_with_their_zone() -> None:
    assert moment(ts(2026, 11, 21, 16, 58, 3), UTC) == "2026-11-21 16:58:03 UTC"
    assert moment(ts(2026, 11, 21, 16, 58, 3), BEIJING) == "2026-11-22 00:58:03 UTC+08:00"
    assert moment(ts(2026, 11, 21, 16, 58, 3), timezone(-timedelta(hours=3, minutes=30))).endswith("13:28:03 UTC-03:30")
    assert clock(ts(2026, 11, 21, 16, 58, 3), ts(2026, 11, 21, 20), UTC) == "16:58:03"
    assert clock(ts(2026, 11, 21, 16, 58, 3), ts(2026, 11, 21, 20), BEIJING) == "00:58:03"
    assert clock(ts(2026, 11, 20, 16, 58, 3), ts(2026, 11, 21, 20), UTC) == "11-20 16:58:03"
