"""Times as people give them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from streaming.errors import SourceError
from streaming.explain.times import parse_moment

BEIJING = timezone(timedelta(hours=8))
NOW = datetime(2026, 11, 21, 17, 0, tzinfo=UTC)


def ts(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "expected", "zone"),
    [
        ("2026-11-21T16:58:03", ts(2026, 11, 21, 16, 58, 3), UTC),
        ("2026-11-21 16:58", ts(2026, 11, 21, 16, 58), UTC),
        ("2026-11-21", ts(2026, 11, 21), UTC),
        ("2026-11-21T16:58:03Z", ts(2026, 11, 21, 16, 58, 3), UTC),
        ("2026-11-22T00:58:03+08:00", ts(2026, 11, 21, 16, 58, 3), BEIJING),
        ("-30m", ts(2026, 11, 21, 16, 30), UTC),
        ("90s", ts(2026, 11, 21, 16, 58, 30), UTC),
        ("2h", ts(2026, 11, 21, 15), UTC),
        ("-1d", ts(2026, 11, 20, 17), UTC),
    ],
)
def test_times_are_understood(text: str, expected: int, zone: timezone) -> None:
    assert parse_moment(text, NOW, UTC) == (expected, zone)


def test_a_time_without_zone_is_of_the_zone_at_hand() -> None:
    assert parse_moment("2026-11-22T00:58:03", NOW, BEIJING) == (ts(2026, 11, 21, 16, 58, 3), BEIJING)
    local = datetime(2026, 11, 21, 16, 58, 3).astimezone()
    assert parse_moment("2026-11-21T16:58:03", NOW) == (int(local.timestamp() * 1000), None)


@pytest.mark.parametrize("text", ["yesterday", "", "30", "30w", "2026-13-01", "999999999d"])
def test_anything_else_is_refused_with_what_is_understood(text: str) -> None:
    with pytest.raises(SourceError, match="as in 30m"):
        parse_moment(text, NOW)
