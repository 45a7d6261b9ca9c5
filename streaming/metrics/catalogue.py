"""Every metric that evenkeel exposes. ``docs/metrics.md`` has them as a table, and a test compares the two.

Names and units follow Prometheus's conventions. Labels are the existing clusters, groups, topics and sinks, and words
of a closed set. Clients and queues are never labels: their number has no bound.
"""

from collections.abc import Callable
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family

RUN, COLLECT, NOTIFY, WEB = PROCESSES = ("run", "collect", "notify", "web")


class Metric(NamedTuple):
    """A metric. ``name``: as in Prometheus, a counter's with ``_total``. ``processes``: commands that expose it."""

    name: str
    type: Callable[..., Family]
    labels: tuple[str, ...]
    processes: tuple[str, ...]
    help: str

    @property
    def unit(self) -> str:
        """The base unit in the name; empty for counts of things."""
        last = self.name.removesuffix("_total").rpartition("_")[2]
        return last if last in ("seconds", "bytes") else ""


_METRICS: list[Metric] = []


def _metric(name: str, type_: Callable[..., Family], labels: str, processes: tuple[str, ...], help_: str) -> Metric:
    one = Metric(f"evenkeel_{name}", type_, tuple(labels.split()), processes, help_)
    _METRICS.append(one)
    return one


_C, _G, _H = CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

# Of every process
BUILD_INFO = _metric("build_info", _G, "version process", PROCESSES, "always 1: which evenkeel this is")
READY = _metric("ready", _G, "", PROCESSES, "1: /readyz answers 200; 0: it answers 503 with the reasons")
LEFT_OUT = _metric(
    "left_out",
    _G,
    "of",
    (RUN, COLLECT, WEB),
    "groups, topics or clusters without series of their own, since metrics.series_limit was reached",
)

# The job
_JOB = (RUN,)
JOB_BATCHES = _metric(
    "job_batch_duration_seconds",
    _H,
    "",
    _JOB,
    "how long a trigger's batch took, from its rows until its facts were appended; _count: how many there were",
)
JOB_BATCH_TIME = _metric("job_last_batch_timestamp_seconds", _G, "", _JOB, "when the newest batch ended")
JOB_APPEND_TIME = _metric("job_last_append_timestamp_seconds", _G, "", _JOB, "when facts were last appended")
JOB_STATE = _metric("job_state_bytes", _G, "", _JOB, "size of the state of all shards that had events since the start")
JOB_FACTS = _metric("job_facts_total", _C, "", _JOB, "facts of groups that batches have given")
JOB_LOST = _metric("job_records_lost_total", _C, "", _JOB, "records that Kafka dropped before the job had read them")
JOB_EVENTS = _metric("job_events_total", _C, "cluster", _JOB, "events that the job has read")
JOB_ROUNDS = _metric("job_rounds_total", _C, "cluster", _JOB, "rounds of groups that the job has evaluated")
JOB_QUARANTINED = _metric(
    "job_quarantined_total",
    _C,
    "cluster",
    _JOB,
    "records, and events of records, that could not be used; cluster empty: of no cluster that is known",
)
JOB_UNANSWERED = _metric(
    "job_brokers_unanswered_total", _C, "cluster", _JOB, "answers of brokers that were missing in rounds"
)
JOB_CONTRADICTING = _metric(
    "job_contradicting_rounds_total", _C, "cluster", _JOB, "rounds refused: they contradict those of another producer"
)
JOB_ROUND_TIME = _metric(
    "job_newest_round_timestamp_seconds",
    _G,
    "cluster",
    _JOB,
    "time of the newest round that the job has read: time() minus this is the job's lag",
)

# Clusters and groups, from the facts
_FACTS = (RUN, WEB)
FACTS_READ_TIME = _metric(
    "facts_read_timestamp_seconds", _G, "", _FACTS, "when this process last read the table of facts without an error"
)
CLUSTER_HEALTH_TIME = _metric(
    "cluster_health_timestamp_seconds", _G, "cluster", _FACTS, "time of the newest health fact of the cluster"
)
CLUSTER_SEEN_TIME = _metric(
    "cluster_seen_timestamp_seconds", _G, "cluster", _FACTS, "until when the facts cover the cluster"
)
GROUPS = _metric("groups", _G, "cluster status", _FACTS, "consumer groups of each status")
ALERTS = _metric("alerts", _G, "cluster kind severity state", _FACTS, "open alerts, pending or firing")
REBALANCES = _metric("rebalances_total", _C, "cluster", _FACTS, "rebalances that ended since this process started")
GROUP_STATUS = _metric(
    "group_status", _G, "cluster consumer_group status", _FACTS, "always 1: the group has this status now"
)
GROUP_QUEUES = _metric(
    "group_queues",
    _G,
    "cluster consumer_group finding",
    _FACTS,
    "queues with this finding; for a finding of a topic or the group: how often it holds",
)
GROUP_ALERTS = _metric(
    "group_alerts", _G, "cluster consumer_group kind severity state", _FACTS, "open alerts of the group"
)
GROUP_MEMBERS = _metric("group_members", _G, "cluster consumer_group", _FACTS, "members that brokers list")
GROUP_REPORTING = _metric(
    "group_members_reporting", _G, "cluster consumer_group", _FACTS, "members that have reported which queues they own"
)
GROUP_BROKERS = _metric("group_brokers", _G, "cluster consumer_group", _FACTS, "brokers that know the group")
GROUP_COVERED = _metric(
    "group_brokers_covered", _G, "cluster consumer_group", _FACTS, "brokers of the group that have answered lately"
)
GROUP_LAG = _metric(
    "group_lag_messages",
    _G,
    "cluster consumer_group",
    _FACTS,
    "messages that wait for the group, by its newest status: a new one comes when the number has changed clearly",
)
GROUP_LAG_READ_TIME = _metric(
    "group_lag_read_timestamp_seconds",
    _G,
    "cluster consumer_group",
    _FACTS,
    "when the oldest of the offsets was read that evenkeel_group_lag_messages rests on",
)
GROUP_REBALANCES = _metric(
    "group_rebalances_total", _C, "cluster consumer_group", _FACTS, "rebalances that ended since this process started"
)

# The notifier
_NOTIFIER = (RUN, NOTIFY)
DELIVERING = _metric(
    "notifier_delivering", _G, "", _NOTIFIER, "1: this notifier delivers; 0: another one does, or it has failed"
)
NOTIFIER_READ_TIME = _metric(
    "notifier_facts_read_timestamp_seconds", _G, "", _NOTIFIER, "when the notifier last read facts without an error"
)
NOTIFIER_HEALTH_TIME = _metric(
    "notifier_health_timestamp_seconds",
    _G,
    "cluster",
    _NOTIFIER,
    "time of the newest health fact that the notifier knows: time() minus this is its lag",
)
TROUBLES = _metric(
    "monitor_troubles",
    _G,
    "cluster kind",
    _NOTIFIER,
    "troubles of evenkeel itself: monitor_blind, monitor_late, monitor_contradicted, group_blind",
)
NOTICES = _metric(
    "notices_total", _C, "sink outcome", _NOTIFIER, "notices that were delivered, repeated, failed or missed"
)
SINK_FAILING = _metric("sink_failing", _G, "sink", _NOTIFIER, "1: the sink accepts no pages")
SINK_TAKEN_TIME = _metric(
    "sink_last_delivery_timestamp_seconds", _G, "sink", _NOTIFIER, "when the sink last accepted a notice"
)
SINK_PAGES = _metric("sink_open_pages", _G, "sink", _NOTIFIER, "pages whose end has not been sent yet")
SINK_WAITING = _metric("sink_notices_waiting", _G, "sink", _NOTIFIER, "notices that are due and not delivered yet")

# The collector
_COLLECTOR = (COLLECT,)
REQUESTS = _metric(
    "collector_requests_total",
    _C,
    "cluster request outcome",
    _COLLECTOR,
    "requests by RocketMQ's name: answered, refused, timed_out, unreachable, not_sent to an address that is silent, "
    "or not_allowed",
)
REQUEST_DURATION = _metric(
    "collector_request_duration_seconds", _H, "cluster request", _COLLECTOR, "how long answers took"
)
ROUND_DURATION = _metric(
    "collector_round_duration_seconds", _H, "cluster", _COLLECTOR, "how long rounds of all groups took"
)
ROUND_INTERVAL = _metric(
    "collector_round_interval_seconds", _G, "cluster", _COLLECTOR, "from the start of a round to the next"
)
ROUND_TIME = _metric("collector_last_round_timestamp_seconds", _G, "cluster", _COLLECTOR, "when the last round ended")
ROUNDS_FAILED = _metric(
    "collector_rounds_failed_total", _C, "cluster", _COLLECTOR, "rounds that ended with an error of evenkeel"
)
COLLECTED_GROUPS = _metric(
    "collector_groups",
    _G,
    "cluster state",
    _COLLECTOR,
    "groups that get rounds (watched) or are only looked at (empty)",
)
SILENT = _metric(
    "collector_silent", _G, "cluster", _COLLECTOR, "brokers and name servers that gave no answer when last asked"
)
NOT_ASKED = _metric(
    "collector_clients_not_asked",
    _G,
    "cluster reason",
    _COLLECTOR,
    "clients that were due and not asked in the last round of their group",
)
EVENTS_SENT = _metric("collector_events_sent_total", _C, "", _COLLECTOR, "events that Kafka has acknowledged")
EVENTS_DROPPED = _metric(
    "collector_events_dropped_total", _C, "", _COLLECTOR, "events that were dropped, since too many waited for Kafka"
)
EVENTS_WAITING = _metric("collector_events_waiting", _G, "", _COLLECTOR, "events that wait in memory for Kafka")
KAFKA_AWAY = _metric("collector_kafka_away", _G, "", _COLLECTOR, "1: Kafka takes no events")
LAG = _metric(
    "rocketmq_lag_messages",
    _G,
    "cluster consumer_group topic",
    _COLLECTOR,
    "messages that the group has not consumed yet, by the brokers' offsets",
)
LAG_OF_CLUSTER = _metric(
    "rocketmq_cluster_lag_messages", _G, "cluster", _COLLECTOR, "the same of all groups and topics of the cluster"
)
LAG_TIME = _metric(
    "rocketmq_lag_timestamp_seconds",
    _G,
    "cluster consumer_group topic",
    _COLLECTOR,
    "only while messages wait: when the message consumed last was stored, in the queue that is furthest behind",
)

METRICS: tuple[Metric, ...] = tuple(_METRICS)
