"""Lines that others can cause at will."""

import logging

import pytest

from streaming.repeated_lines import MOST_KINDS, OnceAMinute


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def log(clock: list[float], caplog: pytest.LogCaptureFixture) -> logging.Logger:
    found = logging.getLogger("tests.repeated")
    for one in list(found.filters):
        found.removeFilter(one)
    found.addFilter(OnceAMinute(lambda: clock[0]))
    return found


def test_one_line_a_minute_with_a_count(
    log: logging.Logger, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(150):
        clock[0] = 1000 + second
        log.warning("request %d is none", second)
        if second in (3, 4):
            log.warning("something else")
    assert caplog.messages == [
        "request 0 is none",
        "something else",
        "request 60 is none (59 more like this since the last such line)",
        "request 120 is none (59 more like this since the last such line)",
    ]


def test_kinds_are_not_kept_for_ever(log: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10 * MOST_KINDS):
        log.warning(f"a text of its own {number}")
    (kept,) = log.filters
    assert isinstance(kept, OnceAMinute)
    assert len(kept._shown) <= MOST_KINDS
