"""The metrics of a collector for Prometheus, and why it does not do its work.

Each number is counted where it happens: requests, and what came of each, in ``wire/requests``; clients
that are not asked in ``probing/client_schedule``; lag in ``probing/lag``; records in ``output/kafka``.
``metrics/catalogue`` has the names.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from streaming.collector.output.kafka import KafkaOutput
from streaming.collector.probing.client_schedule import BROKER_FAILED, LABELS
from streaming.collector.probing.cluster_probe import ClusterProbe, RoundReport
from streaming.collector.probing.lag import Lags, TopicLag
from streaming.collector.wire.requests import RequestCounts
from streaming.metrics import catalogue as m
from streaming.metrics.series import Histogram, Series, histogram, label, seconds, within

MISSED_ROUNDS = 3
PATIENCE_MS = 10_000
TopicItem = tuple[str, str, str, TopicLag]  # cluster, group, topic


@dataclass
class ClusterCounts:
    """The counts of a cluster, as of its last round. The collector's loop replaces whole values; others read them.

    ``leads`` false: this collector does not ask it now.
    """

    cluster: str
    interval_ms: int
    requests: RequestCounts
    lags: Lags
    leads: bool = True
    rounds: Histogram = field(default_factory=lambda: histogram(m.ROUND_DURATION))
    failed: int = 0
    round_ts: int | None = None
    watched: int = 0
    empty: int = 0
    silent: int = 0
    brokers_answer: bool = True
    not_asked: Counter[str] = field(default_factory=Counter)

    def round_ended(self, report: RoundReport, probe: ClusterProbe) -> None:
        self.rounds.observe(report.took_s)
        self.watched, self.empty = probe.groups.counts()
        self.silent = len(report.silent)
        self.brokers_answer = probe.directory.has_broker
        self.not_asked = probe.not_asked()
        self.round_ts = probe.clock.now_ms()


@dataclass(frozen=True)
class CollectorExposed:
    """``clusters``: all of the configuration. ``limit``: of the series of single groups and topics."""

    clusters: Callable[[], Sequence[ClusterCounts]]
    limit: int
    output: KafkaOutput | None
    now_ms: Callable[[], int]

    def series(self) -> Iterator[Series]:
        clusters = self.clusters()
        for one in clusters:
            yield Series(m.LEADS, (label(one.cluster),), int(one.leads))
        clusters = [one for one in clusters if one.leads]
        for one in clusters:
            yield from _of_cluster(one)
        if self.output is not None:
            yield from _of_output(self.output)
        yield from lag_series(clusters, self.limit)

    def troubles(self) -> list[str]:
        return list(self._troubles())

    def _troubles(self) -> Iterator[str]:
        now = self.now_ms()
        for one in self.clusters():
            if not one.leads:
                continue
            longest_ms = MISSED_ROUNDS * one.interval_ms + PATIENCE_MS
            if one.round_ts is None:
                yield f"cluster {one.cluster}: no round has ended yet"
            elif now - one.round_ts > longest_ms:
                yield f"cluster {one.cluster}: no round has ended for {(now - one.round_ts) // 1000} s"
            elif not one.brokers_answer:
                yield f"cluster {one.cluster}: no broker answers"
        if self.output is not None and self.output.is_away:
            yield "Kafka takes no events"


def lag_series(clusters: Sequence[ClusterCounts], limit: int) -> Iterator[Series]:
    """The largest lag first. What is left out is counted, and part of its cluster's."""
    items = [(one.cluster, *item) for one in clusters for item in one.lags.by_topic()]
    totals = Counter({one.cluster: 0 for one in clusters})
    for cluster, _, _, lag in items:
        totals[cluster] += lag.messages
    for cluster, messages in totals.items():
        yield Series(m.LAG_OF_CLUSTER, (label(cluster),), messages)
    of_topics = map(_of_topic, sorted(items, key=lambda item: (-item[3].messages, item[:3])))
    of_polls = ([_of_polls(one.cluster, *item)] for one in clusters for item in sorted(one.lags.polls()))
    kept, left_out = within(limit, chain(of_topics, of_polls))
    yield from kept
    yield Series(m.LEFT_OUT, ("topics",), left_out)


def _of_topic(item: TopicItem) -> list[Series]:
    *names, lag = item
    labels = tuple(map(label, names))
    found = [Series(m.LAG, labels, lag.messages)]
    if lag.stored_ts is not None:
        found.append(Series(m.LAG_TIME, labels, seconds(lag.stored_ts)))
    if lag.in_flight is not None:
        found.append(Series(m.IN_FLIGHT, labels, lag.in_flight))
    return found


def _of_polls(cluster: str, group: str, topic: str, broker: str, waiting: int) -> Series:
    return Series(m.POLLS, tuple(map(label, (cluster, group, topic, broker))), waiting)


def _of_cluster(one: ClusterCounts) -> Iterator[Series]:
    name = label(one.cluster)
    for code, outcome, number in one.requests.counts():
        yield Series(m.REQUESTS, (name, code.name, outcome.value), number)
    for code, durations in one.requests.durations():
        yield Series(m.REQUEST_DURATION, (name, code.name), durations)
    yield Series(m.ROUND_DURATION, (name,), one.rounds)
    yield Series(m.ROUND_INTERVAL, (name,), seconds(one.interval_ms))
    yield Series(m.ROUNDS_FAILED, (name,), one.failed)
    if one.round_ts is not None:
        yield Series(m.ROUND_TIME, (name,), seconds(one.round_ts))
    yield Series(m.COLLECTED_GROUPS, (name, "watched"), one.watched)
    yield Series(m.COLLECTED_GROUPS, (name, "empty"), one.empty)
    yield Series(m.SILENT, (name,), one.silent)
    for reason in (*LABELS.values(), BROKER_FAILED):
        yield Series(m.NOT_ASKED, (name, reason), one.not_asked[reason])


def _of_output(output: KafkaOutput) -> Iterator[Series]:
    yield Series(m.EVENTS_SENT, (), output.sent)
    yield Series(m.EVENTS_DROPPED, (), output.backlog.given_up)
    yield Series(m.EVENTS_WAITING, (), len(output.backlog))
    yield Series(m.KAFKA_AWAY, (), float(output.is_away))
