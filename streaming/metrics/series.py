"""Series as values: what a process exposes at one moment. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from streaming.metrics.catalogue import Metric
from streaming.wording.names import ELLIPSIS, plain

LONGEST_LABEL = 255
MOST_CLUSTERS = 100  # events name them, and anybody may send some
_MARK = 8


class Durations(NamedTuple):
    """A histogram: ``counts`` of each bucket, the last one of all that is longer than the last bound."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total_s: float


class Series(NamedTuple):
    """``labels``: the values of the metric's labels, in their order."""

    metric: Metric
    labels: tuple[str, ...]
    value: float | Durations


class Histogram:
    """Counts durations. One thread adds; any may ask for ``durations``."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._total_s = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._total_s += seconds

    def durations(self) -> Durations:
        return Durations(self._bounds, tuple(self._counts), self._total_s)


def label(name: str) -> str:
    """A name from RocketMQ as a label's value: control characters are written out, and what is too long is cut.

    So nothing acts on a terminal or turns text around where the name is shown. Two long names stay two.
    """
    shown = plain(name)
    if len(shown) <= LONGEST_LABEL:
        return shown
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{shown[: LONGEST_LABEL - _MARK - 1]}{ELLIPSIS}{mark}"


def within(limit: int, items: Iterable[Sequence[Series]]) -> tuple[list[Series], int]:
    """The series of as many items as there is room for, each item whole; and how many items were left out."""
    kept: list[Series] = []
    left_out = 0
    for item in items:
        if len(kept) + len(item) <= limit:
            kept += item
        else:
            left_out += 1
    return kept, left_out


def seconds(epoch_ms: int) -> float:
    """A time as Prometheus has it."""
    return epoch_ms / 1000
