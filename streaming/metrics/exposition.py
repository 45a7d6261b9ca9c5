"""A process's series in Prometheus's text format, made by prometheus-client."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from streaming import __version__
from streaming.metrics.catalogue import BUILD_INFO, READY, Metric
from streaming.metrics.series import Series

Reader = Callable[[], Iterable[Series]]
FRESH_S = 1.0  # many requests at the same time cost one text


class Exposed(NamedTuple):
    """The metrics of a process. ``process``: the command; ``troubles``: why it does not work now, empty if it does;
    ``is_standby``: it waits until another process ends.
    """

    process: str
    readers: Sequence[Reader]
    troubles: Callable[[], list[str]]
    is_standby: Callable[[], bool] = lambda: False


class Exposition:
    """The exposition of a process. ``text`` is made at most once a second, by one thread at a time."""

    def __init__(self, exposed: Exposed, clock: Callable[[], float] = time.monotonic) -> None:
        self.troubles = exposed.troubles
        self.is_standby = exposed.is_standby
        self._clock = clock
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Reading(exposed))
        ProcessCollector(registry=self._registry)
        self._text = b""
        self._made_s: float | None = None
        self._lock = Lock()

    def text(self) -> bytes:
        with self._lock:
            if self._made_s is None or self._clock() - self._made_s >= FRESH_S:
                self._text = generate_latest(self._registry)
                self._made_s = self._clock()
            return self._text


class _Reading(Collector):
    """A prometheus-client collector that reads all values again at each request."""

    def __init__(self, exposed: Exposed) -> None:
        self._exposed = exposed

    def collect(self) -> Iterator[Family]:
        by_metric: dict[Metric, dict[tuple[str, ...], float | Histogram]] = {}
        for one in self._series():
            if len(one.labels) != len(one.metric.labels):
                raise ValueError(f"{one.metric.name} has the labels {one.metric.labels}, not {one.labels}")
            by_metric.setdefault(one.metric, {}).setdefault(one.labels, one.value)  # no duplicate series
        for metric, values in by_metric.items():
            yield _family(metric, values)

    def _series(self) -> Iterator[Series]:
        exposed = self._exposed
        yield Series(BUILD_INFO, (__version__, exposed.process), 1)
        yield Series(READY, (), float(not exposed.troubles()))
        for read in exposed.readers:
            yield from read()


def _family(metric: Metric, values: dict[tuple[str, ...], float | Histogram]) -> Family:
    family: Any = metric.type(metric.name, metric.help, labels=metric.labels)
    for labels, value in values.items():
        if isinstance(value, Histogram):
            own = dict(zip(metric.labels, labels, strict=True))
            for sample in (sample for one in value.collect() for sample in one.samples):
                if not sample.name.endswith("_created"):
                    family.add_sample(sample.name, own | sample.labels, sample.value)
        else:
            family.add_metric(labels, value)
    return family
