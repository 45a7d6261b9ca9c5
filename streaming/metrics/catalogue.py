"""Every metric that evenkeel exposes. ``docs/metrics.md`` has them as a table, and a test compares the two.

Names and units follow Prometheus's conventions. Labels are the existing clusters, groups, topics and sinks, and words
of a closed set. Clients and queues are never labels: their number has no bound.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family

RUN, COLLECT, NOTIFY, WEB = PROCESSES = ("run", "collect", "notify", "web")


class Metric(NamedTuple):
    """A metric. ``name``: as in Prometheus, a counter's with ``_total``. ``processes``: commands that expose it.

    ``buckets``: of a histogram, their upper bounds in seconds.
    """

    name: str
    labels: tuple[str, ...]
    processes: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()

    @property
    def type(self) -> Callable[..., Family]:
        if self.name.endswith("_total"):
            return CounterMetricFamily
        return HistogramMetricFamily if self.buckets else GaugeMetricFamily


_METRICS: list[Metric] = []


def _metric(processes: tuple[str, ...], pattern: str, help_: str, buckets: tuple[float, ...] = ()) -> Metric:
    """A metric. ``pattern``: its name and its labels, as Prometheus writes them."""
    name, _, labels = pattern.removesuffix("}").partition("{")
    one = Metric(f"evenkeel_{name}", tuple(labels.split(", ")) if labels else (), processes, help_, buckets)
    _METRICS.append(one)
    return one


# Of every process
_every = partial(_metric, PROCESSES)
BUILD_INFO = _every("build_info{version, process}", "always 1: which evenkeel this is")
READY = _every("ready", "1: /readyz answers 200; 0: it answers 503 with the reasons")
STANDBY = _metric(
    (RUN, NOTIFY), "standby", "1: this process waits until another one ends (--standby), and does nothing; 0: it works"
)
LEFT_OUT = _metric(
    (RUN, COLLECT, WEB),
    "left_out{of}",
    "groups, topics or clusters without series of their own, since metrics.series_limit was reached",
)

# The job
_job = partial(_metric, (RUN,))
JOB_BATCHES = _job(
    "job_batch_duration_seconds",
    "how long a trigger's batch took, from its rows until its facts were appended; _count: how many there were",
    (0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 40, 80),
)
JOB_BATCH_TIME = _job("job_last_batch_timestamp_seconds", "when the newest batch ended")
JOB_APPEND_TIME = _job("job_last_append_timestamp_seconds", "when facts were last appended")
JOB_STATE = _job("job_state_bytes", "size of the state of all shards that had events since the start")
JOB_FACTS = _job("job_facts_total", "facts of groups that batches have given")
JOB_LOST = _job("job_records_lost_total", "records that Kafka dropped before the job had read them")
JOB_EVENTS = _job("job_events_total{cluster}", "events that the job has read")
JOB_ROUNDS = _job("job_rounds_total{cluster}", "rounds of groups that the job has evaluated")
JOB_QUARANTINED = _job(
    "job_quarantined_total{cluster}",
    "records, and events of records, that could not be used; cluster empty: of no cluster that is known",
)
JOB_UNANSWERED = _job("job_brokers_unanswered_total{cluster}", "answers of brokers that were missing in rounds")
JOB_CONTRADICTING = _job(
    "job_contradicting_rounds_total{cluster}", "rounds refused: they contradict those of another producer"
)
JOB_ROUND_TIME = _job(
    "job_newest_round_timestamp_seconds{cluster}",
    "time of the newest round that the job has read: time() minus this is the job's lag",
)

# Clusters and groups, from the facts
_facts = partial(_metric, (RUN, WEB))
FACTS_READ_TIME = _facts(
    "facts_read_timestamp_seconds", "when this process last read the table of facts without an error"
)
CLUSTER_HEALTH_TIME = _facts(
    "cluster_health_timestamp_seconds{cluster}", "time of the newest health fact of the cluster"
)
CLUSTER_SEEN_TIME = _facts("cluster_seen_timestamp_seconds{cluster}", "until when the facts cover the cluster")
GROUPS = _facts("groups{cluster, status}", "consumer groups of each status")
ALERTS = _facts("alerts{cluster, kind, severity, state}", "open alerts, pending or firing")
REBALANCES = _facts("rebalances_total{cluster}", "rebalances that ended since this process started")
GROUP_STATUS = _facts("group_status{cluster, consumer_group, status}", "always 1: the group has this status now")
GROUP_QUEUES = _facts(
    "group_queues{cluster, consumer_group, finding}",
    "queues with this finding; for a finding of a topic or the group: how often it holds",
)
GROUP_ALERTS = _facts("group_alerts{cluster, consumer_group, kind, severity, state}", "open alerts of the group")
GROUP_MEMBERS = _facts("group_members{cluster, consumer_group}", "members that brokers list")
GROUP_REPORTING = _facts(
    "group_members_reporting{cluster, consumer_group}", "members that have reported which queues they own"
)
GROUP_BROKERS = _facts("group_brokers{cluster, consumer_group}", "brokers that know the group")
GROUP_COVERED = _facts(
    "group_brokers_covered{cluster, consumer_group}", "brokers of the group that have answered lately"
)
GROUP_LAG = _facts(
    "group_lag_messages{cluster, consumer_group}",
    "messages that wait for the group, by its newest status: a new one comes when the number has changed clearly",
)
GROUP_LAG_READ_TIME = _facts(
    "group_lag_read_timestamp_seconds{cluster, consumer_group}",
    "when the oldest of the offsets was read that evenkeel_group_lag_messages rests on",
)
GROUP_REBALANCES = _facts(
    "group_rebalances_total{cluster, consumer_group}", "rebalances that ended since this process started"
)

# The notifier
_notifier = partial(_metric, (RUN, NOTIFY))
DELIVERING = _notifier("notifier_delivering", "1: this notifier delivers; 0: another one does, or it has failed")
NOTIFIER_READ_TIME = _notifier(
    "notifier_facts_read_timestamp_seconds", "when the notifier last read facts without an error"
)
NOTIFIER_HEALTH_TIME = _notifier(
    "notifier_health_timestamp_seconds{cluster}",
    "time of the newest health fact that the notifier knows: time() minus this is its lag",
)
TROUBLES = _notifier(
    "monitor_troubles{cluster, kind}",
    "troubles of evenkeel itself: monitor_blind, monitor_late, monitor_contradicted, group_blind",
)
NOTICES = _notifier("notices_total{sink, outcome}", "notices that were delivered, repeated, failed or missed")
SINK_FAILING = _notifier("sink_failing{sink}", "1: the sink accepts no pages")
SINK_TAKEN_TIME = _notifier("sink_last_delivery_timestamp_seconds{sink}", "when the sink last accepted a notice")
SINK_PAGES = _notifier("sink_open_pages{sink}", "pages whose end has not been sent yet")
SINK_WAITING = _notifier("sink_notices_waiting{sink}", "notices that are due and not delivered yet")

# The collector
_collector = partial(_metric, (COLLECT,))
REQUESTS = _collector(
    "collector_requests_total{cluster, request, outcome}",
    "requests by RocketMQ's name: answered, refused, timed_out, unreachable, not_sent to an address that is silent, "
    "or not_allowed",
)
REQUEST_DURATION = _collector(
    "collector_request_duration_seconds{cluster, request}",
    "how long answers took",
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
ROUND_DURATION = _collector(
    "collector_round_duration_seconds{cluster}",
    "how long rounds of all groups took",
    (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
ROUND_INTERVAL = _collector("collector_round_interval_seconds{cluster}", "from the start of a round to the next")
ROUND_TIME = _collector("collector_last_round_timestamp_seconds{cluster}", "when the last round ended")
ROUNDS_FAILED = _collector("collector_rounds_failed_total{cluster}", "rounds that ended with an error of evenkeel")
COLLECTED_GROUPS = _collector(
    "collector_groups{cluster, state}", "groups that get rounds (watched) or are only looked at (empty)"
)
LEADS = _collector(
    "collector_leads{cluster}", "1: this collector asks the cluster; 0: another one does, or Kafka does not say which"
)
SILENT = _collector("collector_silent{cluster}", "brokers and name servers that gave no answer when last asked")
NOT_ASKED = _collector(
    "collector_clients_not_asked{cluster, reason}",
    "clients that were due and not asked in the last round of their group",
)
EVENTS_SENT = _collector("collector_events_sent_total", "events that Kafka has acknowledged")
EVENTS_DROPPED = _collector(
    "collector_events_dropped_total", "events that were dropped, since too many waited for Kafka"
)
EVENTS_WAITING = _collector("collector_events_waiting", "events that wait in memory for Kafka")
KAFKA_AWAY = _collector("collector_kafka_away", "1: Kafka takes no events")
LAG = _collector(
    "rocketmq_lag_messages{cluster, consumer_group, topic}",
    "messages that the group has not consumed yet, by the brokers' offsets",
)
LAG_OF_CLUSTER = _collector(
    "rocketmq_cluster_lag_messages{cluster}", "the same of all groups and topics of the cluster"
)
LAG_TIME = _collector(
    "rocketmq_lag_timestamp_seconds{cluster, consumer_group, topic}",
    "only while messages wait: when the message consumed last was stored, in the queue that is furthest behind",
)
POLLS = _collector(
    "rocketmq_waiting_polls{cluster, consumer_group, topic, broker}",
    "polls of clients that own no queue, which wait at the broker for messages of any of its queues: none waits while"
    " there are some",
)
IN_FLIGHT = _collector(
    "rocketmq_in_flight_messages{cluster, consumer_group, topic}",
    "messages that clients have taken by POP and not acknowledged, by the brokers' own metrics",
)

METRICS: tuple[Metric, ...] = tuple(_METRICS)
