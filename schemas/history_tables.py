"""The history tables: rows are appended and never changed."""

from schemas.ddl import sql_type
from schemas.observed import Observed
from schemas.reasons import ReasonDetails
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
    REASON_DETAILS,
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
        Column("next_finding", "STRING", "finding of the queue after the interval"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)

MEMBERSHIP_CHANGES = Table(
    name="membership_changes",
    comment="One row for each time that a client appeared in, or disappeared from, one broker's list of members.",
    columns=(
        CLUSTER,
        GROUP,
        BROKER,
        CLIENT,
        Column("change", "STRING", "appeared or disappeared"),
        Column("reason", "STRING", "registered, unregistered, expired or closed; null: no producer saw why"),
        Column("entries", "BIGINT", "how often the broker lists the client id now; 2: two channels under one id"),
        Column(
            "first_seen",
            "BOOLEAN",
            "true: it was in the first list that the broker gave of the group, so it may have joined earlier; null in"
            " rows of an older evenkeel",
        ),
        Column("addresses", "ARRAY<STRING>", "ip:port of each entry; empty: not known"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)

REBALANCES = Table(
    name="rebalances",
    comment="One row for each rebalance: from the first change of a group's members or routes until every queue had its"
    " expected owner again.",
    columns=(
        CLUSTER,
        GROUP,
        Column("trigger", "STRING", "what began it: join, leave, join and leave, route, or not seen"),
        Column("members_joined", "ARRAY<STRING>", "client ids that joined"),
        Column("members_left", "ARRAY<STRING>", "client ids that left"),
        Column("topics", "ARRAY<STRING>", "topics with queues that changed owner or whose route changed"),
        Column("from_time", "TIMESTAMP", "when the first change was seen"),
        Column("to_time", "TIMESTAMP", "when it converged, or when evenkeel gave it up"),
        Column("duration_ms", "BIGINT", "to_time - from_time, in milliseconds"),
        Column(
            "converged",
            "BOOLEAN",
            "true: every queue had its expected owner again; false: it was given up after too long a time",
        ),
        Column("queues_moved", "BIGINT", "number of queues that changed owner"),
        Column("fewest_moves", "BIGINT", "number of queues that had to change owner at least; null: not known"),
        Column(
            "duplicated_ms",
            "BIGINT",
            "time in which queues had two or more owners, summed over queues, in milliseconds",
        ),
        Column(
            "orphaned_ms",
            "BIGINT",
            "time in which queues had no owner by the reports of all members, summed over queues, in milliseconds",
        ),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=365,
)

ALERTS = Table(
    name="alerts",
    comment="One row for each transition of an alert, and for each change of an open alert's queues, cause or severity."
    " The newest row of a fingerprint (largest seq) is the present state of the alert.",
    columns=(
        CLUSTER,
        GROUP,
        Column("topic", "STRING", "RocketMQ topic; null or empty: the alert is about the whole group"),
        Column("kind", "STRING", "finding that the alert is about, of queues, a topic or the group"),
        Column(
            "fingerprint",
            "STRING",
            "identifies the alert: one for each (cluster, consumer_group, topic, kind), always the same",
        ),
        Column("state", "STRING", "pending, firing or resolved"),
        SEVERITY,
        Column("cause", "STRING", "SAME_CLIENT_ID, VIEW_DIVERGENCE, ... or UNEXPLAINED; null: the kind needs none"),
        Column(
            "observed",
            sql_type(Observed),
            "what shows the finding and its cause: one struct for each kind of evidence, most of them null;"
            " docs/findings.md names those of each cause; null in rows of evenkeel 0.1",
        ),
        Column("evidence", "STRING", "the same as an English sentence, in rows of evenkeel 0.1; null in later rows"),
        Column("reason", "STRING", "why this row was written: which transition, or what changed"),
        Column(
            "queues",
            "ARRAY<STRUCT<broker_name:STRING,queue_id:INT,actual_owners:ARRAY<STRING>,expected_owners:ARRAY<STRING>,"
            "waiting:BIGINT,read_time:TIMESTAMP>>",
            "message queues that the alert is about; waiting: number of messages not consumed, by offsets that were"
            " read at read_time; null: not known",
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
            "changes from ten minutes before the alert until the row, the newest last, at most 10; what: joined, left,"
            " route_changed, broker_lost or broker_returned; subject: a client id, a topic or a broker's name",
        ),
        Column("waiting", "BIGINT", "number of messages not consumed in its queues; null: not known"),
        Column(
            "read_time",
            "TIMESTAMP",
            "when the oldest of the offsets behind waiting were read; null: not known, or a row of an older evenkeel",
        ),
        Column("oldest_time", "TIMESTAMP", "the oldest message not consumed was stored after this; null: not known"),
        Column("since_time", "TIMESTAMP", "since when the first of its queues has not been as it should"),
        Column("seen_time", "TIMESTAMP", "when evidence last supported it; null in rows of an older evenkeel"),
        Column(
            "kept_open",
            "STRING",
            "the reason why it is open though its queues have looked right since right_since_time; null: they do not",
        ),
        Column("right_since_time", "TIMESTAMP", "since when its queues have looked right; null: they do not"),
        Column(
            "waits_for",
            "STRING",
            "why it is pending. time: it must last until waits_until_time at least; deploy: a rolling deploy may bring"
            " it about; null: it is not pending, or a row of an older evenkeel",
        ),
        Column(
            "waits_until_time",
            "TIMESTAMP",
            "of a deploy: it fires at this time at the latest, if it is found then; null: it is not pending",
        ),
        Column(
            "deploy_since_time",
            "TIMESTAMP",
            "since when the rolling deploy has gone on for which it waits, or which may be the reason why it fires",
        ),
        Column("active_time", "TIMESTAMP", "when the alert became pending"),
        Column("fired_time", "TIMESTAMP", "when the alert began to fire; null: it has not fired"),
        Column("resolved_time", "TIMESTAMP", "when the alert was resolved; null: it is open"),
        Column("stale", "BOOLEAN", "true: evidence that could resolve the alert is missing"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=365,
    keep_newest_of=("fingerprint",),
)

GROUP_STATUS = Table(
    name="group_status",
    comment="One row for each change of a consumer group's status, and one an hour without a change. The newest row of"
    " a group (largest seq) is its present status.",
    columns=(
        CLUSTER,
        GROUP,
        Column("status", "STRING", "healthy, findings, settling, unknown, excluded or empty"),
        Column(
            "reason",
            "STRING",
            "why the group, or one of its queues, is not judged: a kind of reason (docs/findings.md lists them); null:"
            " all are judged; in rows of evenkeel 0.1 an English sentence, unless EXCLUDED",
        ),
        Column("reason_details", sql_type(ReasonDetails), REASON_DETAILS),
        Column("members", "BIGINT", "number of members"),
        Column("members_reporting", "BIGINT", "number of members of which every instance has reported its queues"),
        Column("queues", "BIGINT", "number of message queues of the group's topics"),
        Column(
            "finding_counts",
            "MAP<STRING,BIGINT>",
            "finding -> number of queues with it; findings of a topic or the group: how often they hold",
        ),
        Column(
            "retry_counts",
            "MAP<STRING,BIGINT>",
            "finding -> how many of these are queues of retry topics in which no message waits, so that no alert names"
            " them; null in rows of an older evenkeel",
        ),
        Column("brokers_covered", "BIGINT", "number of brokers that answered lately"),
        Column("brokers_known", "BIGINT", "number of brokers known"),
        Column(
            "waiting",
            "BIGINT",
            "number of messages not consumed in all queues of the topics that the group subscribes to; null: not known,"
            " or a row of an older evenkeel",
        ),
        Column("read_time", "TIMESTAMP", "when the oldest of the offsets behind waiting were read; null: not known"),
        Column(
            "fullest_queues",
            "ARRAY<STRUCT<topic:STRING,broker_name:STRING,queue_id:BIGINT,waiting:BIGINT>>",
            "the queues in which the most messages wait, at most 20",
        ),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
    keep_newest_of=("cluster", "consumer_group"),
)

QUARANTINE = Table(
    name="quarantine",
    comment="One row for each record that could not be used: where it came from, and its content.",
    columns=(
        Column("cluster", "STRING", "cluster, by the record's key; null: the key does not say it"),
        Column("consumer_group", "STRING", "consumer group, by the record's key; null: the key does not say it"),
        Column(
            "reason",
            "STRING",
            "one of a fixed set of words: bad_json, bad_field, too_long, key_mismatch, absurd_time, ...",
        ),
        Column("detail", "STRING", "what was wrong, and where"),
        Column("source_topic", "STRING", "Kafka topic, or name of the file"),
        Column("source_partition", "INT", "Kafka partition; null in files"),
        Column("source_offset", "BIGINT", "Kafka offset; in files: seq of the line"),
        Column("record_key", "STRING", "key of the record as text; bytes that are not UTF-8 are replaced"),
        Column("length", "BIGINT", "length of the whole value, in bytes"),
        Column("sha256", "STRING", "SHA-256 of the whole value, in hex"),
        Column("preview", "STRING", "the first 200 bytes of the value as text"),
        Column("value", "BINARY", "the first 64 KB of the value; null: the record had none"),
        Column(
            "events",
            "BIGINT",
            "how many refused events the row stands for: more than 1 where the others of a record or batch are only"
            " counted, and the row is an example of them; null: 1",
        ),
        Column("ts", "TIMESTAMP", "when the record arrived; 1970-01-01 in files, which do not say it"),
        DATE,
    ),
    keep_days=30,
)

MONITOR_HEALTH = Table(
    name="monitor_health",
    comment="How evenkeel itself works: one row per cluster about every 15 s. A gap means that evenkeel did not watch.",
    columns=(
        CLUSTER,
        Column(
            "status",
            "STRING",
            "ok, idle (nothing arrived), late, data_lost (Kafka dropped unread records) or failed (the job ended with"
            " an error)",
        ),
        Column("batch_id", "BIGINT", "number of the detection job's micro-batch"),
        Column("consumer_groups", "BIGINT", "the most groups of which one micro-batch had events since the row before"),
        Column("rounds", "BIGINT", "number of collection rounds read since the row before"),
        Column("events", "BIGINT", "number of events read since the row before"),
        Column("quarantined", "BIGINT", "number of records quarantined since the row before"),
        Column("brokers_unanswered", "BIGINT", "number of broker answers that were missing in those rounds"),
        Column("lag_ms", "BIGINT", "how far the newest round is behind the job's clock, in milliseconds"),
        Column("events_per_s", "DOUBLE", "events read per second since the row before"),
        Column("batch_ms", "BIGINT", "how long the newest micro-batch that has ended took, in milliseconds"),
        Column("batch_ended_time", "TIMESTAMP", "when that ended; null: none has since the job started"),
        Column("working_ms", "BIGINT", "for how long the next one has been made, in milliseconds; null: none is"),
        Column("kafka_time", "TIMESTAMP", "when Kafka last said where its topic ends; null: it has not"),
        Column("kafka_error", "STRING", "why it did not when it was asked last; null: it did"),
        Column(
            "unread", "BIGINT", "number of records in Kafka beyond those that the job is done with; null: not known"
        ),
        Column("quiet_since_time", "TIMESTAMP", "since when no record was seen to come to Kafka; null: not known"),
        Column("state_bytes", "BIGINT", "size of the job's state, in bytes"),
        Column(
            "contradicting",
            "BIGINT",
            "number of rounds refused since the row before because they contradict those of another producer",
        ),
        Column("records_lost", "BIGINT", "number of records that Kafka dropped before they were read"),
        Column("detail", "STRING", "further explanation of the status; null: none"),
        Column("ts", "TIMESTAMP", "when it was measured, by the job's clock"),
        DATE,
    ),
    keep_days=30,
)

NOTIFICATIONS = Table(
    name="notifications",
    comment="Outcomes of each page at each destination, written by the notifier: one row for each outcome. A page that"
    " fails has a row for that, and another one when it is delivered later, or is over before.",
    columns=(
        CLUSTER,
        Column("key", "STRING", "identifies the incident, at the sink too: the same from its first notice to its last"),
        Column("sink", "STRING", "name of the destination in the alert rules"),
        Column(
            "outcome",
            "STRING",
            "delivered, failed (it will be tried again) or missed (it was over before it was delivered)",
        ),
        Column("detail", "STRING", "why it failed or was missed; null: it was delivered"),
        Column("status", "STRING", "firing or resolved: what the notice says"),
        SEVERITY,
        Column(
            "trouble",
            "STRING",
            "monitor_blind, monitor_late, monitor_contradicted or group_blind: evenkeel's own trouble; null: a page"
            " about alerts",
        ),
        Column("consumer_groups", "ARRAY<STRING>", "RocketMQ consumer groups that the page is about"),
        Column("fingerprints", "ARRAY<STRING>", "fingerprints of the alerts that the page is about"),
        Column("since_time", "TIMESTAMP", "when the incident began", older="since"),
        Column("title", "STRING", "title of the page"),
        Column("ts", "TIMESTAMP", "time of the outcome, by the notifier's clock"),
        DATE,
    ),
    keep_days=90,
)

MONITOR_FAULTS = Table(
    name="monitor_faults",
    comment="One row for each time that a fault of evenkeel, or a loss of events, kept it from judging a group.",
    columns=(
        CLUSTER,
        GROUP,
        Column("fault", "STRING", "evaluation_failed (an error in evenkeel) or events_lost (a gap in what arrived)"),
        Column("error", "STRING", "evaluation_failed: text of the error; else null"),
        Column("place", "STRING", "evaluation_failed: function and line in the code; else null"),
        Column("source", "STRING", "events_lost: producer whose events are missing; else null"),
        Column("events_lost", "BIGINT", "events_lost: number of events, by the producer's numbering; else null"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)
