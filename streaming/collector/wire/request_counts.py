"""How many requests of each code were made, what came of them, and how long answers took."""

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from streaming.collector.wire.requests import Code
from streaming.metrics.catalogue import REQUEST_DURATION
from streaming.metrics.series import Histogram, histogram

BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Outcome(Enum):
    """``NOT_SENT``: to an address that did not answer a moment ago; ``NOT_ALLOWED``: to one outside of the networks."""

    ANSWERED = "answered"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    NOT_SENT = "not_sent"
    NOT_ALLOWED = "not_allowed"


class RequestCounts:
    """The collector's loop adds; any thread may read."""

    def __init__(self) -> None:
        self._counts = {code: Counter[Outcome]() for code in Code}
        self._durations = {code: histogram(REQUEST_DURATION, BOUNDS_S) for code in Code}

    def add(self, code: Code, outcome: Outcome, took_s: float) -> None:
        self._counts[code][outcome] += 1
        if outcome in (Outcome.ANSWERED, Outcome.REFUSED):
            self._durations[code].observe(took_s)

    def counts(self) -> Iterator[tuple[Code, Outcome, int]]:
        """Every outcome of the codes that were asked."""
        for code, counter in self._counts.items():
            for outcome in Outcome if counter else ():
                yield code, outcome, counter[outcome]

    def durations(self) -> Iterator[tuple[Code, Histogram]]:
        for code, durations in self._durations.items():
            if self._counts[code]:
                yield code, durations
