"""How the monitor itself is doing: what the batches told, added up to one health fact per cluster now and then."""

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import NamedTuple

from msgspec import Struct

from schemas.facts import Fact, HealthFact
from streaming.core.shard import ClusterCounts
from streaming.spark.lost_records import Loss
from streaming.spark.operator_output import ShardReport

LATE_MS = 60_000
FORGET_CLUSTER_MS = 7 * 86_400_000
NOBODY = ""  # the cluster of a health fact while no cluster is known


class BatchAccount(NamedTuple):
    """One batch: its number, how long it took, what its shards told and what was lost."""

    batch_id: int
    took_ms: int
    reports: list[ShardReport]
    loss: Loss


class _Sum(Struct):
    """Of one cluster, since the last health fact. ``groups``: the most that one batch touched."""

    events: int = 0
    rounds: int = 0
    groups: int = 0
    quarantined: int = 0
    brokers_unanswered: int = 0


class Health:
    """Adds up batches and says, every ``every_s`` seconds and at once after a loss, how each cluster's watch goes.

    ``newest`` is each known cluster's newest round; it outlives the process in the metadata of Delta's commits.
    The batches' thread and that of the heartbeat both use it.
    """

    def __init__(self, every_s: float | None, newest: Mapping[str, int], now_ms: int) -> None:
        self.newest = dict(newest)
        self._every_ms = None if every_s is None else every_s * 1000
        self._told_ms = self._seq = now_ms
        self._sums: dict[str, _Sum] = {}
        self._state_bytes: dict[int, int] = {}
        self._batch_id, self._batch_ms = -1, 0
        self._loss = Loss()
        self._lock = Lock()

    def add(self, account: BatchAccount) -> None:
        with self._lock:
            self._batch_id, self._batch_ms = account.batch_id, account.took_ms
            self._state_bytes |= {report.shard: report.state_bytes for report in account.reports}
            for tally in _by_cluster(account.reports):
                if tally.events or tally.cluster in self.newest:
                    self._take(tally)
        self.add_loss(account.loss)

    def add_loss(self, loss: Loss) -> None:
        if loss.records:
            with self._lock:
                details = [detail for detail in (self._loss.detail, loss.detail) if detail]
                self._loss = Loss(self._loss.records + loss.records, "; ".join(details))

    def facts(self, now_ms: int, patience_ms: float = 0, working: bool = True) -> list[Fact]:
        """What is due: nothing before the time, but for a loss.

        ``patience_ms``: how long past the time to wait; ``working``: a batch is being made, so that a lag is lateness.
        """
        with self._lock:
            due = self._every_ms is not None and now_ms >= self._told_ms + self._every_ms + patience_ms
            if not due and not self._loss.records:
                return []
            self._forget(now_ms)
            self._seq = max(now_ms, self._seq + 1)
            found = [
                Fact(self._seq, name, "", None, now_ms, self._fact(name, now_ms, working))
                for name in self.newest or (NOBODY,)
            ]
            self._told_ms, self._sums, self._loss = now_ms, {}, Loss()
            return found

    def _take(self, tally: ClusterCounts) -> None:
        total = self._sums.setdefault(tally.cluster, _Sum())
        total.events += tally.events
        total.rounds += tally.rounds
        total.groups = max(total.groups, tally.groups)
        total.quarantined += tally.quarantined
        total.brokers_unanswered += tally.brokers_unanswered
        self.newest[tally.cluster] = max(tally.newest_round_ts or 0, self.newest.get(tally.cluster, 0))

    def _forget(self, now_ms: int) -> None:
        """A cluster that is not heard of for a week is no longer watched."""
        gone = [name for name, ts in self.newest.items() if name not in self._sums and now_ms - ts > FORGET_CLUSTER_MS]
        for name in gone:
            del self.newest[name]

    def _fact(self, cluster: str, now_ms: int, working: bool) -> HealthFact:
        total = self._sums.get(cluster, _Sum())
        newest = self.newest.get(cluster) or None
        lag_ms = None if newest is None else now_ms - newest
        seconds = max(1.0, (now_ms - self._told_ms) / 1000)
        return HealthFact(
            status=self._status(total, lag_ms, working),
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
        )

    def _status(self, total: _Sum, lag_ms: int | None, working: bool) -> str:
        if self._loss.records:
            return "data_lost"
        if not total.events and (lag_ms is None or not working):
            return "idle"  # also while the first batch is being made: nothing is known to be well yet
        return "late" if lag_ms is not None and lag_ms > LATE_MS else "ok"


def _by_cluster(reports: Iterable[ShardReport]) -> list[ClusterCounts]:
    """The shards' tallies of a batch added up: a group is in one shard, so that groups add up too."""
    totals: dict[str, ClusterCounts] = {}
    for tally in (tally for report in reports for tally in report.cluster_counts):
        total = totals.setdefault(tally.cluster, ClusterCounts(tally.cluster))
        for name in ("events", "rounds", "groups", "quarantined", "brokers_unanswered"):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        total.newest_round_ts = max(tally.newest_round_ts or 0, total.newest_round_ts or 0) or None
    return list(totals.values())
