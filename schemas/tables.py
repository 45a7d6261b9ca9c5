"""Every Delta table as plain data: columns with types, comments and units, partitioning and merge keys. No Spark.

``facts`` is the log. History tables get one row a fact, appended; current tables hold one row a thing, merged by
``merge_keys``, larger ``seq`` wins. Columns of the projections are named so that no SQL dialect wants them quoted:
``consumer_group`` is the ``group`` of events and facts. Times are TIMESTAMP (UTC), durations BIGINT milliseconds.
"""

from inspect import getdoc

from schemas.ddl import FACT_KEY_COLUMNS, payload_column, payload_columns
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

_FACT_COMMENTS = {
    "identity": "checkpoint of the detection job that told the fact",
    "shard": "part of the groups that the fact's group belongs to",
    "seq": "counts the facts of one (cluster, group); quarantined records: their Kafka offset or line",
    "fact": "which payload column is filled; group facts fill group_status",
    "cluster": CLUSTER.comment,
    "group": "RocketMQ consumer group; empty where a quarantined record does not tell",
    "topic": "RocketMQ topic, where the fact is about one",
    "ts": TS.comment,
    "date": DATE.comment,
}


def _payload_comment(payload: type) -> str:
    return " ".join((getdoc(payload) or "").replace("``", "").split()) + " Fields named *_ts: epoch ms, UTC."


_PAYLOAD_COMMENTS = {payload_column(payload): _payload_comment(payload) for payload in PAYLOADS}

FACTS = Table(
    name="facts",
    comment="The log that all other tables are made from: one row a fact, appended in order, never changed.",
    columns=tuple(
        Column(name, sql_type, (_FACT_COMMENTS | _PAYLOAD_COMMENTS)[name])
        for name, sql_type in (FACT_KEY_COLUMNS | payload_columns()).items()
    ),
    keep_days=30,
)

QUEUE_ASSIGNMENTS = Table(
    name="queue_assignments",
    comment="One row a message queue of each group, as it stands now: who owns it, who should, and what was found.",
    columns=(
        CLUSTER,
        GROUP,
        TOPIC,
        BROKER,
        QUEUE_ID,
        FINDING,
        SEVERITY,
        CAUSE,
        Column("reason", "STRING", "why it is EXCLUDED, UNKNOWN or SETTLING"),
        EXPECTED,
        ACTUAL,
        Column("since", "TIMESTAMP", "since when the finding has been the same"),
        Column("present", "BOOLEAN", "false: the queue is gone from the route and nobody holds it"),
        SEQ,
        TS,
    ),
    partitioned_by=(),
    merge_keys=("cluster", "consumer_group", "topic", "broker_name", "queue_id"),
)

GROUP_MEMBERS = Table(
    name="group_members",
    comment="One row a client of each group, as last known. Clients that have left stay for a while, present = false.",
    columns=(
        CLUSTER,
        GROUP,
        CLIENT,
        Column("present", "BOOLEAN", "true: a broker lists it as a member"),
        Column("since", "TIMESTAMP", "since when it has been a member, or no longer is one"),
        Column("brokers", "ARRAY<STRING>", "brokers that list it"),
        Column("instances", "BIGINT", "how many processes carry this client id; more than 1 is a fault"),
        Column("addresses", "ARRAY<STRING>", "ip:port of its channels, where known"),
        Column("language", "STRING", "JAVA, CPP, GO, ..."),
        Column("version", "STRING", "RocketMQ version of the client"),
        Column("message_model", "STRING", "CLUSTERING or BROADCASTING"),
        Column("strategy", "STRING", "allocate strategy, as reported"),
        Column("orderly", "BOOLEAN", "true: it consumes orderly and locks its queues"),
        Column("subscriptions", "ARRAY<STRING>", "what it subscribes to"),
        Column("start_time", "TIMESTAMP", "when the client started, as reported"),
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
