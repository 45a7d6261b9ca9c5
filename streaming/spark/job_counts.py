"""Counts of the batches since the job started, for Prometheus and /readyz. Pure."""

from collections import Counter
from collections.abc import Callable, Iterator
from threading import Lock

from streaming.core.shard import ClusterCounts
from streaming.metrics import catalogue as m
from streaming.metrics.series import MOST_CLUSTERS, Series, histogram, label, seconds
from streaming.newest_facts import FORGET_CLUSTER_MS
from streaming.spark.health import BatchSummary, counts_by_cluster

BATCHES, HEALTH = PARTS = ("batches", "health")  # of the work, each in a thread of its own
NOT_KNOWN = ""  # the cluster of records that cannot be read, and of all beyond the most
COUNTED = {
    m.JOB_EVENTS: "events",
    m.JOB_ROUNDS: "rounds",
    m.JOB_QUARANTINED: "quarantined",
    m.JOB_UNANSWERED: "brokers_unanswered",
    m.JOB_CONTRADICTING: "contradicting",
}


class JobCounts:
    """The batches' thread and that of the heartbeat add; others read. ``went_on`` is called with each step of BATCHES
    and HEALTH.
    """

    def __init__(self, went_on: Callable[[str], object] = lambda part: None) -> None:
        self.went_on = went_on
        self._batches = histogram(m.JOB_BATCHES)
        self._batch_ts: int | None = None
        self._append_ts: int | None = None
        self._facts = self._lost = 0
        self._state_bytes: dict[int, int] = {}
        self._counts = {metric: Counter[str]() for metric in COUNTED}
        self._newest: dict[str, int] = {}
        self._rounds_ts: dict[str, int] = {}
        self._lock = Lock()

    def add(self, batch: BatchSummary, now_ms: int) -> None:
        with self._lock:
            self._lost += batch.loss.records
            self._facts += sum(report.facts for report in batch.reports)
            self._state_bytes |= {report.shard: report.state_bytes for report in batch.reports}
            for one in counts_by_cluster(batch.reports):
                self._count(one, now_ms)

    def lost(self, records: int) -> None:
        """Add records that were lost before the first batch, while no job was reading."""
        with self._lock:
            self._lost += records

    def ended(self, took_s: float, now_ms: int) -> None:
        with self._lock:
            self._batches.observe(took_s)
            self._batch_ts = now_ms

    def appended(self, now_ms: int) -> None:
        """Note that facts were appended. A cluster without an event for a week is no longer watched."""
        with self._lock:
            self._append_ts = now_ms
            for name in [name for name, ts in self._newest.items() if ts and now_ms - ts > FORGET_CLUSTER_MS]:
                del self._newest[name]
                self._rounds_ts.pop(name, None)

    def series(self) -> list[Series]:
        with self._lock:
            return list(self._series())

    def troubles(self, configured: tuple[str, ...], blind_ms: int, late_ms: int, now_ms: int) -> list[str]:
        """The reasons why the job is not ready: facts are not written, no rounds come, or the rounds are old.

        ``configured``: clusters whose rounds must come, beside those that have come.
        """
        with self._lock:
            return list(self._troubles(configured, blind_ms, late_ms, now_ms))

    def _count(self, one: ClusterCounts, now_ms: int) -> None:
        """Count for a cluster. Only events make a cluster known: the key of a damaged record may name any."""
        if one.events and one.cluster not in self._newest and len(self._newest) < MOST_CLUSTERS:
            self._newest[one.cluster] = 0
        name = one.cluster if one.cluster in self._newest else NOT_KNOWN
        for metric, field in COUNTED.items():
            self._counts[metric][name] += getattr(one, field)
        if name:
            self._newest[name] = max(self._newest[name], min(one.newest_round_ts or 0, now_ms))
        if name and one.rounds:
            self._rounds_ts[name] = now_ms

    def _series(self) -> Iterator[Series]:
        yield Series(m.JOB_BATCHES, (), self._batches)
        for metric, ts in ((m.JOB_BATCH_TIME, self._batch_ts), (m.JOB_APPEND_TIME, self._append_ts)):
            if ts is not None:
                yield Series(metric, (), seconds(ts))
        yield Series(m.JOB_STATE, (), sum(self._state_bytes.values()))
        yield Series(m.JOB_FACTS, (), self._facts)
        yield Series(m.JOB_LOST, (), self._lost)
        for cluster, newest_ts in self._newest.items():
            if newest_ts:
                yield Series(m.JOB_ROUND_TIME, (label(cluster),), seconds(newest_ts))
        for metric, counter in self._counts.items():
            for cluster in (*self._newest, NOT_KNOWN):
                yield Series(metric, (label(cluster),), counter[cluster])

    def _troubles(self, configured: tuple[str, ...], blind_ms: int, late_ms: int, now_ms: int) -> Iterator[str]:
        if self._append_ts is None:
            yield "no facts have been written since the job started"
        elif now_ms - self._append_ts > blind_ms:
            yield f"no facts have been written for {(now_ms - self._append_ts) // 1000} s"
        clusters = sorted({*configured, *self._newest})
        if not clusters:
            yield "no round of any cluster comes"
        for cluster in clusters:
            rounds_ts, newest_ts = self._rounds_ts.get(cluster), self._newest.get(cluster, 0)
            if rounds_ts is None:
                yield f"cluster {cluster}: no round has come since the job started"
            elif now_ms - rounds_ts > blind_ms:
                yield f"cluster {cluster}: no round has come for {(now_ms - rounds_ts) // 1000} s"
            elif newest_ts and now_ms - newest_ts > late_ms:
                yield f"cluster {cluster}: the newest round is {(now_ms - newest_ts) // 1000} s old"
