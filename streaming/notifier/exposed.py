"""The metrics of a notifier for Prometheus, and the reasons why it does not work. Pure but for a lock."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from threading import Lock
from typing import NamedTuple

from streaming.metrics import catalogue as m
from streaming.metrics.series import MOST_CLUSTERS, Series, label, seconds
from streaming.newest_facts import ClusterHealth
from streaming.notices.notice import MonitorTrouble
from streaming.notifier.monitor_health import MonitorLimits
from streaming.notifier.sink_worker import SinkStatus

OUTCOMES = ("delivered", "repeated", "failed", "missed")


class NotifierStatus(NamedTuple):
    """The status of a notifier that delivers. ``read_ts``: the time of the last read of facts; 0: never.

    ``unsaved``: why its position cannot be written; None: it can. ``unseen``: clusters in trouble.
    """

    read_ts: int
    unsaved: str | None
    sinks: tuple[SinkStatus, ...]
    troubles: tuple[MonitorTrouble, ...] = ()
    unseen: Collection[str] = ()
    health: Mapping[str, ClusterHealth] = {}

    def reasons_unsaved(self) -> list[str]:
        return [why for why in (self.unsaved, *(one.unsaved for one in self.sinks)) if why is not None]


class NotifierCounts:
    """Counts that are kept when a notifier fails and starts again. ``status``: None while it does not deliver."""

    def __init__(self) -> None:
        self.status: NotifierStatus | None = None
        self._notices: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def count(self, sink: str, outcome: str) -> None:
        with self._lock:
            self._notices[sink, outcome] += 1

    def series(self) -> list[Series]:
        status = self.status
        with self._lock:
            notices = Counter(self._notices)
        sinks = sorted({name for name, _ in notices} | {one.name for one in (status.sinks if status else ())})
        found = [Series(m.DELIVERING, (), float(status is not None))]
        found += [Series(m.NOTICES, (label(name), word), notices[name, word]) for name in sinks for word in OUTCOMES]
        return found if status is None else [*found, *_series(status)]

    def troubles(self, limits: MonitorLimits, now_ms: int) -> list[str]:
        """The reasons why it does not work, as far as it can know them."""
        status = self.status
        if status is None:
            return ["this notifier does not deliver: another one does, or it has failed (its log says which)"]
        return list(_troubles(status, limits, now_ms))


def _series(status: NotifierStatus) -> Iterator[Series]:
    if status.read_ts:
        yield Series(m.NOTIFIER_READ_TIME, (), seconds(status.read_ts))
    for cluster, health in sorted(status.health.items())[:MOST_CLUSTERS]:
        yield Series(m.NOTIFIER_HEALTH_TIME, (label(cluster),), seconds(health.health_ts))
    kinds = Counter((trouble.cluster, trouble.kind) for trouble in status.troubles)
    for (cluster, kind), number in kinds.most_common(MOST_CLUSTERS):
        yield Series(m.TROUBLES, (label(cluster), kind), number)
    for sink in status.sinks:
        yield from _of_sink(sink)


def _of_sink(sink: SinkStatus) -> Iterator[Series]:
    name = (label(sink.name),)
    yield Series(m.SINK_FAILING, name, float(sink.failing is not None))
    yield Series(m.SINK_PAGES, name, sink.open_pages)
    yield Series(m.SINK_WAITING, name, sink.waiting)
    if sink.taken_ts is not None:
        yield Series(m.SINK_TAKEN_TIME, name, seconds(sink.taken_ts))


def _troubles(status: NotifierStatus, limits: MonitorLimits, now_ms: int) -> Iterator[str]:
    if not status.read_ts:
        yield "the facts have not been read yet"
    elif now_ms - status.read_ts > limits.blind_ms:
        yield f"the facts have not been read for {(now_ms - status.read_ts) // 1000} s"
    if status.unsaved is not None:
        yield f"the notifier's state cannot be written: {status.unsaved}"
    for sink in status.sinks:
        if sink.failing is not None:
            yield f"sink {sink.name} accepts no pages: {sink.failing}"
        if sink.unsaved is not None:
            yield f"the state of sink {sink.name} cannot be written: {sink.unsaved}"
    for cluster in sorted(status.unseen):
        yield f"{f'cluster {cluster}' if cluster else 'the job'}: no facts, no rounds, or old ones"
