"""Series as values: the metrics of a process at one moment. Pure.

The most series of single groups stand in the table ``[metrics]`` of ``config/sections``.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from prometheus_client import Histogram

from streaming.metrics.catalogue import Metric
from streaming.wording.names import ELLIPSIS, plain

LONGEST_LABEL = 255
MOST_CLUSTERS = 100  # cluster names come from events, which any program may send
_MARK = 8


class Series(NamedTuple):
    """A series. ``labels``: the values of the metric's labels, in order. ``value``: for a histogram, its counts."""

    metric: Metric
    labels: tuple[str, ...]
    value: float | Histogram


def histogram(metric: Metric) -> Histogram:
    """A counter of durations in the metric's buckets, for the series of one set of labels."""
    return Histogram(metric.name, metric.help, buckets=metric.buckets, registry=None)


def label(name: str) -> str:
    """A name from RocketMQ as a label's value: control characters are escaped, and long names are shortened.

    So a shown name cannot control a terminal or reverse text. Two different long names stay different.
    """
    shown = plain(name)
    if len(shown) <= LONGEST_LABEL:
        return shown
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{shown[: LONGEST_LABEL - _MARK - 1]}{ELLIPSIS}{mark}"


def within(limit: int, items: Iterable[Sequence[Series]]) -> tuple[list[Series], int]:
    """The series of the first items that fit, only whole items, and the number of items left out."""
    kept: list[Series] = []
    left_out = 0
    for item in items:
        if len(kept) + len(item) <= limit:
            kept += item
        else:
            left_out += 1
    return kept, left_out


def seconds(epoch_ms: int) -> float:
    """A time in seconds, as in Prometheus."""
    return epoch_ms / 1000
