"""Series as values: what a process exposes at one moment. Pure.

How many of single groups there may be stands in the table ``[metrics]`` of ``config/sections``.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from prometheus_client import Histogram

from streaming.metrics.catalogue import Metric
from streaming.wording.names import ELLIPSIS, plain

LONGEST_LABEL = 255
MOST_CLUSTERS = 100  # events name them, and anybody may send some
_MARK = 8


class Series(NamedTuple):
    """``labels``: the values of the metric's labels, in their order. ``value``: of a histogram, its counts."""

    metric: Metric
    labels: tuple[str, ...]
    value: float | Histogram


def histogram(metric: Metric, bounds: Sequence[float]) -> Histogram:
    """Counts durations, in the buckets that these bounds make, for the series of one set of labels."""
    return Histogram(metric.name, metric.help, buckets=bounds, registry=None)


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
