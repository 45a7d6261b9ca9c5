"""The health of the job itself: the batches' reports, added up to one health fact for each cluster.

How often one is written stands in the table ``[job]`` of ``config/sections``.
"""

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import NamedTuple

from msgspec.structs import replace

from schemas.facts import FAILED, Fact, HealthFact
from streaming.core.shard import ClusterCounts
from streaming.newest_facts import FORGET_CLUSTER_MS
from streaming.spark.kafka_offsets import KafkaSeen, Loss
from streaming.spark.operator import ShardReport

LATE_MS = 60_000  # the status of a health fact alone; pages are sent by late_seconds of the table [monitor]
CLUSTERS_AT_MOST = 1_000  # that have health facts: anybody who writes to the topic may make some up
NOBODY = ""  # the cluster of a health fact while no cluster is known


class Sight(NamedTuple):
    """The job's work at one moment, beside what batches report.

    ``working_ms``: for how long a batch has been made, None: none is; ``unread``: records in Kafka that it is not done
    with, None: not known.
    """

    working_ms: int | None = None
    kafka: KafkaSeen = KafkaSeen()
    unread: int | None = None


class BatchSummary(NamedTuple):
    """One batch: its number, how long it took, its shards' reports and what was lost."""

    batch_id: int
    took_ms: int
    reports: list[ShardReport]
    loss: Loss


class Health:
    """Adds up batches and makes health facts, every ``every_s`` seconds and at once after a loss.

    ``newest`` is each known cluster's newest round. It is kept in the metadata of Delta's commits, so a new process
    knows it. A round ahead of the job's clock counts as of now: otherwise one wrong clock would hide for a long time
    that all others are late. The threads of the batches and of the heartbeat both use it.
    """

    def __init__(self, every_s: float | None, newest: Mapping[str, int], now_ms: int) -> None:
        self.newest = {name: min(ts, now_ms) for name, ts in newest.items()}
        self._every_ms = None if every_s is None else every_s * 1000
        self._written_ms = self._seq = now_ms
        self._sums: dict[str, ClusterCounts] = {}
        self._state_bytes: dict[int, int] = {}
        self._batch_id, self._batch_ms = -1, 0
        self._batch_ended_ts: int | None = None
        self._loss = Loss()
        self._lock = Lock()

    def add(self, account: BatchSummary) -> None:
        with self._lock:
            self._batch_id, self._batch_ms = account.batch_id, account.took_ms
            self._state_bytes |= {report.shard: report.state_bytes for report in account.reports}
            for counts in counts_by_cluster(account.reports):
                has_room = counts.cluster and len(self.newest) < CLUSTERS_AT_MOST
                if counts.cluster in self.newest or (counts.events and has_room):
                    self._take(counts)
        self.add_loss(account.loss)

    def ended(self, took_ms: int, now_ms: int) -> None:
        with self._lock:
            self._batch_ms, self._batch_ended_ts = took_ms, now_ms

    def add_loss(self, loss: Loss) -> None:
        if loss.records:
            with self._lock:
                details = [detail for detail in (self._loss.detail, loss.detail) if detail]
                self._loss = Loss(self._loss.records + loss.records, "; ".join(details))

    def facts(self, now_ms: int, sight: Sight, patience_ms: float = 0) -> list[Fact]:
        """The health facts that are due. A loss is due at once. ``patience_ms``: how long to wait past the due time.

        While a batch is being made a lag is lateness.
        """
        with self._lock:
            self.newest = {name: min(ts, now_ms) for name, ts in self.newest.items()}
            due = self._every_ms is not None and now_ms >= self._written_ms + self._every_ms + patience_ms
            if not due and not self._loss.records:
                return []
            self._forget(now_ms)
            self._seq = max(now_ms, self._seq + 1)
            found = [
                Fact(self._seq, name, "", None, now_ms, self.fact(name, now_ms, sight))
                for name in self.newest or (NOBODY,)
            ]
            self._written_ms, self._sums, self._loss = now_ms, {}, Loss()
            return found

    def _take(self, batch: ClusterCounts) -> None:
        """Add up one batch. ``groups`` is the largest number of groups that one batch had."""
        total = self._sums.setdefault(batch.cluster, ClusterCounts(batch.cluster))
        most_groups = max(total.groups, batch.groups)
        _add(total, batch)
        total.groups = most_groups
        self.newest[batch.cluster] = max(batch.newest_round_ts or 0, self.newest.get(batch.cluster, 0))

    def _forget(self, now_ms: int) -> None:
        """Stop watching a cluster from which no event has come for a week."""
        gone = [name for name, ts in self.newest.items() if name not in self._sums and now_ms - ts > FORGET_CLUSTER_MS]
        for name in gone:
            del self.newest[name]

    def fact(self, cluster: str, now_ms: int, sight: Sight) -> HealthFact:
        """The fact of a cluster: what was added up since the last one."""
        total = self._sums.get(cluster) or ClusterCounts(cluster)
        newest = self.newest.get(cluster) or None
        lag_ms = None if newest is None else now_ms - newest
        seconds = max(1.0, (now_ms - self._written_ms) / 1000)
        return HealthFact(
            status=self._status(total, lag_ms, sight.working_ms is not None),
            batch_id=self._batch_id,
            groups=total.groups,
            rounds=total.rounds,
            events=total.events,
            quarantined=total.quarantined,
            brokers_unanswered=total.brokers_unanswered,
            lag_ms=lag_ms,
            events_per_s=round(total.events / seconds, 3),
            batch_ms=self._batch_ms,
            state_bytes=sum(self._state_bytes.values()),
            records_lost=self._loss.records,
            detail=self._loss.detail,
            batch_ended_ts=self._batch_ended_ts,
            working_ms=sight.working_ms,
            kafka_ts=sight.kafka.answered_ts,
            kafka_error=sight.kafka.error,
            unread=sight.unread,
            quiet_since_ts=sight.kafka.quiet_since_ts,
            contradicting=total.contradicting,
            contradiction=total.contradiction,
        )

    def _status(self, total: ClusterCounts, lag_ms: int | None, working: bool) -> str:
        if self._loss.records:
            return "data_lost"
        if not total.events and (lag_ms is None or not working):
            return "idle"  # also while the first batch is being made: nothing is known to be well yet
        return "late" if lag_ms is not None and lag_ms > LATE_MS else "ok"


def failure_facts(newest: Mapping[str, int], error: str, now_ms: int) -> list[Fact]:
    """The health facts of a job that ends with an error. ``newest``: each known cluster's newest round."""
    idle = Health(None, newest, now_ms)
    return [
        Fact(now_ms, name, "", None, now_ms, replace(idle.fact(name, now_ms, Sight()), status=FAILED, detail=error))
        for name in newest
    ]


def counts_by_cluster(reports: Iterable[ShardReport]) -> Iterable[ClusterCounts]:
    """The sums of the shards' counts of a batch. A group is in one shard, so numbers of groups add up too."""
    totals: dict[str, ClusterCounts] = {}
    for counts in (counts for report in reports for counts in report.cluster_counts):
        _add(totals.setdefault(counts.cluster, ClusterCounts(counts.cluster)), counts)
    return totals.values()


def _add(total: ClusterCounts, more: ClusterCounts) -> None:
    for name in ("events", "rounds", "groups", "quarantined", "brokers_unanswered", "contradicting"):
        setattr(total, name, getattr(total, name) + getattr(more, name))
    total.contradiction = more.contradiction or total.contradiction
    total.newest_round_ts = max(more.newest_round_ts or 0, total.newest_round_ts or 0) or None
