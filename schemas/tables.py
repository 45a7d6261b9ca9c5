"""Every Delta table as plain data: columns with types, comments and units, partitioning and merge keys. No Spark.

``facts`` is the log. History tables get one row a fact, appended; current tables hold one row a thing: of each value of
``merge_keys`` the row with the largest ``seq``. Columns of the projections are named so that no SQL dialect wants them
quoted: ``consumer_group`` is the ``group`` of events and facts. Times are TIMESTAMP (UTC), durations BIGINT
milliseconds.
"""

from inspect import getdoc

from schemas.ddl import FACT_KEY_COLUMNS, payload_column, payload_columns, sql_type
from schemas.facts import PAYLOADS
from schemas.history_tables import (
    ALERTS,
    GROUP_STATUS,
    MEMBERSHIP_CHANGES,
    MONITOR_FAULTS,
    MONITOR_HEALTH,
    NOTIFICATIONS,
    QUARANTINE,
    QUEUE_FINDINGS,
    REBALANCES,
)
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

_FACT_COMMENTS = {
    "identity": "identity of the detection job's checkpoint that the fact came from",
    "shard": "number of the shard of the group's state",
    "seq": "number of the fact within (cluster, group); of a quarantined record: its Kafka offset or line",
    "fact": "kind of the fact: the payload column of this name is filled, for group it is group_status",
    "cluster": CLUSTER.comment,
    "group": "RocketMQ consumer group; empty: the key of a quarantined record does not say it",
    "topic": "RocketMQ topic; null: the fact is about no single topic",
    "ts": TS.comment,
    "date": DATE.comment,
}


def _payload_comment(payload: type) -> str:
    return " ".join((getdoc(payload) or "").replace("``", "").split()) + " Fields named *_ts: epoch ms, UTC."


_PAYLOAD_COMMENTS = {payload_column(payload): _payload_comment(payload) for payload in PAYLOADS}

FACTS = Table(
    name="facts",
    comment="The log from which all other tables are made: one row for each fact, appended in order, never changed.",
    columns=tuple(
        Column(name, sql_type, (_FACT_COMMENTS | _PAYLOAD_COMMENTS)[name])
        for name, sql_type in (FACT_KEY_COLUMNS | payload_columns()).items()
    ),
    keep_days=30,
)

QUEUE_ASSIGNMENTS = Table(
    name="queue_assignments",
    comment="One row for each message queue of each group, as it is now: its owners, expected owners and finding.",
    columns=(
        CLUSTER,
        GROUP,
        TOPIC,
        BROKER,
        QUEUE_ID,
        FINDING,
        SEVERITY,
        CAUSE,
        Column(
            "reason",
            "STRING",
            "why the finding is EXCLUDED, UNKNOWN or SETTLING, or why the expected owners are not known: a kind of"
            " reason (docs/findings.md lists them); null: none; in rows of evenkeel 0.1 an English sentence, unless"
            " EXCLUDED",
        ),
        Column("reason_details", sql_type(ReasonDetails), REASON_DETAILS),
        EXPECTED,
        ACTUAL,
        Column("from_time", "TIMESTAMP", "start of the interval that goes on, as in queue_findings", older="ts"),
        Column(
            "since_time",
            "TIMESTAMP",
            "since when the queue has not been as it should; of what is right or not known: since when that is found",
            older="since",
        ),
        Column("present", "BOOLEAN", "false: the queue is no longer in the topic's route, and no client owns it"),
        SEQ,
        TS,
    ),
    partitioned_by=(),
    merge_keys=("cluster", "consumer_group", "topic", "broker_name", "queue_id"),
)

GROUP_MEMBERS = Table(
    name="group_members",
    comment="One row for each client of each group, as last known. One that left stays for a while, present = false.",
    columns=(
        CLUSTER,
        GROUP,
        CLIENT,
        Column("present", "BOOLEAN", "true: some broker lists it as a member"),
        Column("since_time", "TIMESTAMP", "since when it has been a member, or no longer is one", older="since"),
        Column("brokers", "ARRAY<STRING>", "names of the brokers that list it"),
        Column("instances", "BIGINT", "number of processes with this client id; more than 1 is a fault"),
        Column("addresses", "ARRAY<STRING>", "ip:port of its channels; empty: not known"),
        Column("language", "STRING", "JAVA, CPP, GO, ...; null: not known"),
        Column("version", "STRING", "RocketMQ version of the client; null: not known"),
        Column("message_model", "STRING", "CLUSTERING or BROADCASTING; null: not known"),
        Column("strategy", "STRING", "class name of its allocate strategy; null: it has not reported one"),
        Column("orderly", "BOOLEAN", "true: it consumes in order and locks its queues; null: not known"),
        Column("subscriptions", "ARRAY<STRING>", "topics that it subscribes to, by its report"),
        Column("start_time", "TIMESTAMP", "when it started, by its report; null: not known"),
        SEQ,
        TS,
    ),
    partitioned_by=(),
    merge_keys=("cluster", "consumer_group", "client_id"),
)

HISTORY: tuple[Table, ...] = (
    QUEUE_FINDINGS,
    MEMBERSHIP_CHANGES,
    REBALANCES,
    ALERTS,
    GROUP_STATUS,
    QUARANTINE,
    MONITOR_HEALTH,
    MONITOR_FAULTS,
)
CURRENT: tuple[Table, ...] = (QUEUE_ASSIGNMENTS, GROUP_MEMBERS)
PROJECTIONS: tuple[Table, ...] = HISTORY + CURRENT
TABLES: tuple[Table, ...] = (FACTS, *PROJECTIONS, NOTIFICATIONS)  # the last is the notifier's
