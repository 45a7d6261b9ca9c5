"""Every Delta table as plain data: columns with types, comments and units, partitioning and merge keys. No Spark.

``facts`` is the log. History tables get one row a fact, appended; current tables have one row a thing: of each value of
``merge_keys`` the row with the largest ``seq``. Their columns are derived from the fields of the facts that make them.
Their names need no quotes in any SQL dialect: ``consumer_group`` is the ``group`` of events and facts. Times are
TIMESTAMP (UTC), durations BIGINT milliseconds.
"""

from datetime import date, datetime
from inspect import getdoc
from typing import Annotated

from msgspec import Struct

from schemas import facts
from schemas.ddl import struct_type
from schemas.table_definition import Column, Form, Table, columns_of, fields_said

CLUSTER_COMMENT = "name configured for a set of name servers, not the broker's cluster name"
CLUSTER = Column("cluster", "STRING", CLUSTER_COMMENT, "cluster")
GROUP = Column("consumer_group", "STRING", "RocketMQ consumer group", "group")
TOPIC = Column("topic", "STRING", "RocketMQ topic", "topic")
SEQ = Column(
    "seq", "BIGINT", "number of the fact behind this row; it counts up within (cluster, consumer_group)", "seq"
)
TS = Column("ts", "TIMESTAMP", "time of the collection round that brought the fact", "ts")
DATE = Column("date", "DATE", "UTC day of ts; the table is partitioned by it", "ts")
BY_KEY = "by the record's key; null: the key does not say it"


def _fields(kind: type[facts.Payload], *only: str) -> tuple[Column, ...]:
    return columns_of(kind, facts.payload_column(kind), *only)


def _duration(struct: str) -> Column:
    path = f"{struct}.to_ts - {struct}.from_ts"
    return Column("duration_ms", "BIGINT", "to_time - from_time, in milliseconds", path, Form.DIFFERENCE)


def _payload_comment(payload: type[facts.Payload]) -> str:
    what = " ".join((getdoc(payload) or "").replace("``", "").split())
    return f"{what} Fields: {fields_said(payload)}. Fields named *_ts: epoch ms, UTC."


FACT_KEYS = (
    Column("identity", "STRING", "identity of the detection job's checkpoint that the fact came from"),
    Column("shard", "INT", "number of the shard of the group's state"),
    Column(
        "seq", "BIGINT", "number of the fact within (cluster, group); of a quarantined record: its Kafka offset or line"
    ),
    Column(
        "fact", "STRING", "kind of the fact: the payload column of this name is filled, for group it is group_status"
    ),
    CLUSTER,
    Column("group", "STRING", "RocketMQ consumer group; empty: the key of a quarantined record does not say it"),
    Column("topic", "STRING", "RocketMQ topic; null: the fact is about no single topic"),
    TS,
    DATE,
)

FACTS = Table(
    name="facts",
    comment="The log from which all other tables are made: one row for each fact, appended in order, never changed.",
    columns=(
        *FACT_KEYS,
        *(Column(facts.payload_column(kind), struct_type(kind), _payload_comment(kind)) for kind in facts.PAYLOADS),
    ),
    keep_days=30,
)

QUEUE_ASSIGNMENTS = Table(
    name="queue_assignments",
    comment="One row for each message queue of each group, as it is now: its owners, expected owners and finding.",
    kinds=(facts.QueueFact,),
    columns=(
        CLUSTER,
        GROUP,
        TOPIC,
        *_fields(facts.QueueFact),
        Column("from_time", "TIMESTAMP", "start of the interval that goes on, as in queue_findings", "ts"),
        SEQ,
        TS,
    ),
    partitioned_by=(),
    merge_keys=("cluster", "consumer_group", "topic", "broker_name", "queue_id"),
)

GROUP_MEMBERS = Table(
    name="group_members",
    comment="One row for each client of each group, as last known. One that left stays for a while, present = false.",
    kinds=(facts.MemberFact,),
    columns=(CLUSTER, GROUP, *_fields(facts.MemberFact), SEQ, TS),
    partitioned_by=(),
    merge_keys=("cluster", "consumer_group", "client_id"),
)

QUEUE_FINDINGS = Table(
    name="queue_findings",
    comment="History of message queues: one row for each interval in which a queue's finding, severity and owners"
    " stayed the same, written when it ended. What holds now is in queue_assignments.",
    kinds=(facts.QueueFact,),
    needs="queue.ended",
    columns=(
        CLUSTER,
        GROUP,
        TOPIC,
        *_fields(facts.QueueFact, "broker_name", "queue_id"),
        *columns_of(facts.Interval, "queue.ended"),
        _duration("queue.ended"),
        Column("next_finding", "STRING", "finding of the queue after the interval", "queue.finding"),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)

MEMBERSHIP_CHANGES = Table(
    name="membership_changes",
    comment="One row for each time that a client appeared in, or disappeared from, one broker's list of members.",
    kinds=(facts.MembershipFact,),
    columns=(CLUSTER, GROUP, *_fields(facts.MembershipFact), SEQ, TS, DATE),
    keep_days=90,
)

REBALANCES = Table(
    name="rebalances",
    comment="One row for each rebalance: from the first change of a group's members or routes until every queue had its"
    " expected owner again.",
    kinds=(facts.RebalanceFact,),
    columns=(CLUSTER, GROUP, *_fields(facts.RebalanceFact), _duration("rebalance"), SEQ, TS, DATE),
    keep_days=365,
)

ALERTS = Table(
    name="alerts",
    comment="One row for each transition of an alert, and for each change of an open alert's queues, cause or severity."
    " The newest row of a fingerprint (largest seq) is the present state of the alert.",
    kinds=(facts.AlertFact,),
    columns=(
        CLUSTER,
        GROUP,
        Column("topic", "STRING", "RocketMQ topic; null or empty: the alert is about the whole group", "topic"),
        *_fields(facts.AlertFact),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=365,
    keep_newest_of=("fingerprint",),
    unless=("state", "resolved"),
)

GROUP_STATUS = Table(
    name="group_status",
    comment="One row for each change of a consumer group's status, and one an hour without a change. The newest row of"
    " a group (largest seq) is its present status.",
    kinds=(facts.GroupFact,),
    columns=(CLUSTER, GROUP, *_fields(facts.GroupFact), SEQ, TS, DATE),
    keep_days=90,  # a group that has rounds has a row an hour
)

QUARANTINE = Table(
    name="quarantine",
    comment="One row for each record that could not be used: where it came from, and its content.",
    kinds=(facts.QuarantineFact,),
    columns=(
        Column("cluster", "STRING", f"cluster, {BY_KEY}", "cluster", Form.FILLED),
        Column("consumer_group", "STRING", f"consumer group, {BY_KEY}", "group", Form.FILLED),
        *_fields(facts.QuarantineFact),
        Column("preview", "STRING", "the first 200 bytes of the value as text", "quarantine.bytes", Form.BEGINNING),
        Column("ts", "TIMESTAMP", "when the record arrived; 1970-01-01 in files, which do not say it", "ts"),
        DATE,
    ),
    keep_days=30,
)

MONITOR_HEALTH = Table(
    name="monitor_health",
    comment="Health of evenkeel itself: one row per cluster about every 15 s. A gap means that evenkeel did not watch.",
    kinds=(facts.HealthFact,),
    columns=(
        CLUSTER,
        *_fields(facts.HealthFact),
        Column("ts", "TIMESTAMP", "when it was measured, by the job's clock", "ts"),
        DATE,
    ),
    keep_days=30,
)

MONITOR_FAULTS = Table(
    name="monitor_faults",
    comment="One row for each time that a fault of evenkeel, or a loss of events, kept it from judging a group.",
    kinds=(facts.EvaluationFailedFact, facts.EventsLostFact),
    columns=(
        CLUSTER,
        GROUP,
        Column(
            "fault", "STRING", "evaluation_failed (an error in evenkeel) or events_lost (a gap in what arrived)", "fact"
        ),
        *_fields(facts.EvaluationFailedFact),
        *_fields(facts.EventsLostFact),
        Column(
            "events_lost",
            "BIGINT",
            "events_lost: number of events, by the producer's numbering; else null",
            "events_lost.received_seq - events_lost.expected_seq",
            Form.DIFFERENCE,
        ),
        SEQ,
        TS,
        DATE,
    ),
    keep_days=90,
)


class NotificationRow(Struct):
    """A row of ``notifications``, which the notifier writes. No fact makes it."""

    cluster: Annotated[str, CLUSTER_COMMENT]
    key: Annotated[str, "identifies the incident, at the sink too: the same from its first notice to its last"]
    sink: Annotated[str, "name of the destination in the alert rules"]
    outcome: Annotated[
        str, "delivered, failed (it will be tried again) or missed (it was over before it was delivered)"
    ]
    detail: Annotated[str | None, "why it failed or was missed; null: it was delivered"]
    status: Annotated[str, "firing or resolved: what the notice says"]
    severity: facts.SeverityName
    trouble: Annotated[
        str | None,
        "monitor_blind, monitor_late, monitor_contradicted or group_blind: evenkeel's own trouble; null: a page about"
        " alerts",
    ]
    consumer_groups: Annotated[list[str], "RocketMQ consumer groups that the page is about"]
    fingerprints: Annotated[list[str], "fingerprints of the alerts that the page is about"]
    since_time: Annotated[datetime, "when the incident began"]
    title: Annotated[str, "title of the page"]
    ts: Annotated[datetime, "time of the outcome, by the notifier's clock"]
    date: Annotated[date, DATE.comment]


NOTIFICATIONS = Table(
    name="notifications",
    comment="Outcomes of each page at each destination, written by the notifier: one row for each outcome. A page that"
    " fails has a row for that, and another one when it is delivered later, or is over before.",
    columns=columns_of(NotificationRow, ""),
    keep_days=90,
)

HISTORY: tuple[Table, ...] = (
    *(QUEUE_FINDINGS, MEMBERSHIP_CHANGES, REBALANCES, ALERTS, GROUP_STATUS),
    *(QUARANTINE, MONITOR_HEALTH, MONITOR_FAULTS),
)
CURRENT: tuple[Table, ...] = (QUEUE_ASSIGNMENTS, GROUP_MEMBERS)
PROJECTIONS: tuple[Table, ...] = HISTORY + CURRENT
TABLES: tuple[Table, ...] = (FACTS, *PROJECTIONS, NOTIFICATIONS)  # the last is the notifier's
