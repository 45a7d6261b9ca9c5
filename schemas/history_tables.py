"""The history tables: one row a fact, appended."""

from schemas.ddl import sql_type
from schemas.observed import Observed
from schemas.table_definition import (
    ACTUAL,
    BROKER,
    CAUSE,
    CLIENT,
    CLUSTER,
    DATE,
    EXPECTED,
    FINDING,
    GROUP,
    QUEUE_ID,
    SEQ,
    SEVERITY,
    TOPIC,
    TS,
    Column,
    Table,
)

QUEUE_FINDINGS = Table(
    name="queue_findings",
    comment="History of message queues: one row for each interval in which a queue's finding, severity and owners"
    " stayed the same, written when it ended. What holds now is in queue_assignments.",
    columns=(
        CLUSTER,
        GROUP,
        TOPIC,
        BROKER,
        QUEUE_ID,
        FINDING,
        Column(
            "severity",
            "STRING",
            "critical, warning, info (of a retry topic: no message waited) or none; null in rows of an older evenkeel",
        ),
        CAUSE,
        EXPECTED,
        ACTUAL,
        Column("from_time", "TIMESTAMP", "start of the interval, inclusive"),
        Column("to_time", "TIMESTAMP", "end of the interval, exclusive"),
        Column("duration_ms", "BIGINT", "to_time - from_time, in milliseconds"),
        Column("next_finding", "STRING", "what was found of the queue after it"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)

MEMBERSHIP_CHANGES = Table(
    name="membership_changes",
    comment="One row whenever a client appeared in or disappeared from one broker's list of a group's members.",
    columns=(
        CLUSTER,
        GROUP,
        BROKER,
        CLIENT,
        Column("change", "STRING", "appeared or disappeared"),
        Column("reason", "STRING", "registered, unregistered, expired or closed, where a producer saw it; else null"),
        Column("entries", "BIGINT", "how often the broker lists the client id now; 2: two channels under one id"),
        Column(
            "first_seen",
            "BOOLEAN",
            "true: it stood in the first list that the broker gave of the group, so when it came is not known; null in"
            " rows of an older evenkeel",
        ),
        Column("addresses", "ARRAY<STRING>", "ip:port of each entry, where known"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)

REBALANCES = Table(
    name="rebalances",
    comment="One row a rebalance: from the first change of a group's members or routes until every queue had its"
    " expected owner again.",
    columns=(
        CLUSTER,
        GROUP,
        Column("trigger", "STRING", "what set it off"),
        Column("members_joined", "ARRAY<STRING>", "client ids that joined"),
        Column("members_left", "ARRAY<STRING>", "client ids that left"),
        Column("topics", "ARRAY<STRING>", "topics with queues that changed owner or whose route changed"),
        Column("from_time", "TIMESTAMP", "the first change"),
        Column("to_time", "TIMESTAMP", "when it converged, or was given up"),
        Column("duration_ms", "BIGINT", "to_time - from_time, in milliseconds"),
        Column("converged", "BOOLEAN", "false: it was given up, since evidence was lost or it never ended"),
        Column("queues_moved", "BIGINT", "queues that changed owner"),
        Column("fewest_moves", "BIGINT", "the fewest queues that had to change owner; null: not known"),
        Column("duplicated_ms", "BIGINT", "queue-milliseconds in which queues had two or more owners"),
        Column("orphaned_ms", "BIGINT", "queue-milliseconds in which queues had no owner, by all members"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=365,
)

ALERTS = Table(
    name="alerts",
    comment="One row a transition of an alert, or a change of an open alert's queues or cause. The newest row of a"
    " fingerprint (largest seq) is how the alert stands.",
    columns=(
        CLUSTER,
        GROUP,
        Column("topic", "STRING", "RocketMQ topic; null or empty for an alert about the whole group"),
        Column("kind", "STRING", "the finding that it alerts on, of a queue, topic or group"),
        Column(
            "fingerprint", "STRING", "names the alert: one for each (cluster, consumer_group, topic, kind), for ever"
        ),
        Column("state", "STRING", "pending, firing or resolved"),
        SEVERITY,
        Column("cause", "STRING", "SAME_CLIENT_ID, VIEW_DIVERGENCE, ... or UNEXPLAINED; null where not asked"),
        Column(
            "observed",
            sql_type(Observed),
            "what shows the finding and its cause: one struct for each kind of evidence, most of them null;"
            " docs/findings.md names those of each cause; null in rows of evenkeel 0.1",
        ),
        Column("evidence", "STRING", "the same in English, in rows of evenkeel 0.1; null since"),
        Column("reason", "STRING", "why this row was written: which transition, or what changed"),
        Column(
            "queues",
            "ARRAY<STRUCT<broker_name:STRING,queue_id:INT,actual_owners:ARRAY<STRING>,expected_owners:ARRAY<STRING>,"
            "waiting:BIGINT>>",
            "the message queues that it is about; waiting: messages not consumed, null where no offsets are known",
        ),
        Column(
            "clients",
            "ARRAY<STRUCT<client_id:STRING,addresses:ARRAY<STRING>,brokers:ARRAY<STRING>,version:STRING,"
            "strategy:STRING,subscriptions:ARRAY<STRING>,start_times:ARRAY<TIMESTAMP>,answered_time:TIMESTAMP>>",
            "clients that the cause names, then owners and expected owners of the queues; at most 20",
        ),
        Column(
            "changes",
            "ARRAY<STRUCT<change_time:TIMESTAMP,what:STRING,subject:STRING>>",
            "what changed from ten minutes before it until now, the newest last, at most 10; what: joined, left,"
            " route_changed, broker_lost or broker_returned; subject: a client id, a topic or a broker's name",
        ),
        Column("waiting", "BIGINT", "messages not consumed in its queues; null where no offsets are known"),
        Column("oldest_time", "TIMESTAMP", "the oldest message not consumed came after this; null: not known"),
        Column("since_time", "TIMESTAMP", "since when the first of its queues has been so"),
        Column("active_time", "TIMESTAMP", "when the finding began to hold"),
        Column("fired_time", "TIMESTAMP", "when it began to fire; null: it has not"),
        Column("resolved_time", "TIMESTAMP", "when it was resolved; null: it is open"),
        Column("stale", "BOOLEAN", "true: evidence was lost while it was open, so that it can't resolve"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=365,
    keep_newest_of=("fingerprint",),
)

GROUP_STATUS = Table(
    name="group_status",
    comment="One row whenever a consumer group's state as a whole changed. The newest row of a group (largest seq) is"
    " how it stands.",
    columns=(
        CLUSTER,
        GROUP,
        Column("status", "STRING", "healthy, findings, settling, unknown, excluded or empty"),
        Column("reason", "STRING", "why it is unknown or excluded"),
        Column("members", "BIGINT", "members of the group"),
        Column("members_reporting", "BIGINT", "members whose report of their queues is young enough to count"),
        Column("queues", "BIGINT", "message queues of the topics that it subscribes to"),
        Column("finding_counts", "MAP<STRING,BIGINT>", "queues of each finding; those of none are left out"),
        Column("brokers_covered", "BIGINT", "brokers that answered lately"),
        Column("brokers_known", "BIGINT", "brokers that host its topics"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
    keep_newest_of=("cluster", "consumer_group"),
)

QUARANTINE = Table(
    name="quarantine",
    comment="One row a record that could not be used, with where it came from and what it held.",
    columns=(
        Column("cluster", "STRING", "cluster of the record's key; null where the key does not tell"),
        Column("consumer_group", "STRING", "consumer group of the record's key; null where the key does not tell"),
        Column("reason", "STRING", "a stable word: bad_json, bad_field, too_long, key_mismatch, absurd_time, ..."),
        Column("detail", "STRING", "what was wrong, and where"),
        Column("source_topic", "STRING", "Kafka topic, or file"),
        Column("source_partition", "INT", "Kafka partition; null in files"),
        Column("source_offset", "BIGINT", "Kafka offset, or the line's seq"),
        Column("record_key", "STRING", "the record's key; bytes that are not UTF-8 are replaced"),
        Column("length", "BIGINT", "length of the whole value, in bytes"),
        Column("sha256", "STRING", "SHA-256 of the whole value, in hex"),
        Column("preview", "STRING", "the first 200 bytes of the value as text"),
        Column("value", "BINARY", "the first 64 KB of the value; null: it had none"),
        Column("ts", "TIMESTAMP", "when the record arrived; 1970-01-01 in files, which don't tell"),
        DATE,
    ),
    keep_days=30,
)

MONITOR_HEALTH = Table(
    name="monitor_health",
    comment="How evenkeel itself is doing: one row per cluster every 15 s or so. A gap means that nobody watched.",
    columns=(
        CLUSTER,
        Column("status", "STRING", "ok, idle (nothing arrived), late, or data_lost (Kafka dropped unread records)"),
        Column("batch_id", "BIGINT", "micro-batch of the detection job"),
        Column("consumer_groups", "BIGINT", "groups of which something arrived"),
        Column("rounds", "BIGINT", "collection rounds read since the row before"),
        Column("events", "BIGINT", "events read since the row before"),
        Column("quarantined", "BIGINT", "records quarantined since the row before"),
        Column("brokers_unanswered", "BIGINT", "broker answers that were missing in those rounds"),
        Column("lag_ms", "BIGINT", "how far the newest round is behind the job's clock, in milliseconds"),
        Column("events_per_s", "DOUBLE", "events read per second since the row before"),
        Column("batch_ms", "BIGINT", "how long the micro-batch took, in milliseconds"),
        Column("state_bytes", "BIGINT", "size of the job's state, in bytes"),
        Column("records_lost", "BIGINT", "records that Kafka dropped before they were read"),
        Column("detail", "STRING", "what else there is to say"),
        Column("ts", "TIMESTAMP", "when it was measured, by the job's clock"),
        DATE,
    ),
    keep_days=30,
)

NOTIFICATIONS = Table(
    name="notifications",
    comment="What became of each page at each destination, told by the notifier: one row an outcome. What could not be"
    " delivered is a row too, and once more one when it was in the end, or was over before.",
    columns=(
        CLUSTER,
        Column("key", "STRING", "names the incident: one key from its first notice to its last, also at the sink"),
        Column("sink", "STRING", "name of the destination in the alert rules"),
        Column("outcome", "STRING", "delivered, failed (it is tried again) or missed (over before it was delivered)"),
        Column("detail", "STRING", "why it failed or was missed; null when delivered"),
        Column("status", "STRING", "firing or resolved: what the sink was to be told"),
        SEVERITY,
        Column(
            "trouble", "STRING", "monitor_blind, monitor_late or group_blind, where evenkeel sees nothing; else null"
        ),
        Column("consumer_groups", "ARRAY<STRING>", "RocketMQ consumer groups that it is about"),
        Column("fingerprints", "ARRAY<STRING>", "the alerts that it is about"),
        Column("since", "TIMESTAMP", "since when the incident has been so"),
        Column("title", "STRING", "the page's title"),
        Column("ts", "TIMESTAMP", "when, by the notifier's clock"),
        DATE,
    ),
    keep_days=90,
)

MONITOR_FAULTS = Table(
    name="monitor_faults",
    comment="Times at which evenkeel could not judge a group through a fault of its own side: one row each.",
    columns=(
        CLUSTER,
        GROUP,
        Column("fault", "STRING", "evaluation_failed (an error in evenkeel) or events_lost (a gap in what arrived)"),
        Column("error", "STRING", "evaluation_failed: the error"),
        Column("place", "STRING", "evaluation_failed: where in the code"),
        Column("source", "STRING", "events_lost: the producer whose events are missing"),
        Column("events_lost", "BIGINT", "events_lost: how many, by the producer's own numbering"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)
