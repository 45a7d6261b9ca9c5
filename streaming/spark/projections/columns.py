"""Which facts make which table, and each column as an expression over a row of ``facts``."""

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.table_definition import Table


class Source(NamedTuple):
    """``rows``: which facts make a row, in SQL; ``columns``: SQL for each column that isn't named as in ``facts``."""

    rows: str
    columns: Mapping[str, str]


def rows_of(table: Table, facts: DataFrame) -> DataFrame:
    """The rows that these facts make in ``table``, with its columns and types."""
    source = SOURCES[table.name]
    columns = {"consumer_group": "`group`", **source.columns}
    return facts.where(source.rows).select(
        *(F.expr(columns.get(name, name)).cast(sql_type).alias(name) for name, sql_type, _ in table.columns)
    )


def makes_row(table: Table) -> Column:
    """True for the facts that make a row in ``table``."""
    return F.expr(SOURCES[table.name].rows)


def _fields(struct: str, *names: str, **renamed: str) -> dict[str, str]:
    """Columns taken from the payload: under their own names, or ``column="field"``."""
    return {name: f"{struct}.{name}" for name in names} | {name: f"{struct}.{field}" for name, field in renamed.items()}


def _times(struct: str, **columns: str) -> dict[str, str]:
    """``column="field"`` with epoch milliseconds as TIMESTAMP."""
    return {name: f"timestamp_millis({struct}.{field})" for name, field in columns.items()}


def _text(binary: str) -> str:
    """Bytes as text that every reader can decode."""
    return f"make_valid_utf8(CAST({binary} AS STRING))"


def _owners(struct: str, kind: str) -> str:
    """No owner means nobody only where that was proven, else that owners are not known."""
    return f"if(size({struct}.owners) > 0 OR {kind} IN ('ORPHANED', 'NO_MEMBERS'), {struct}.owners, NULL)"


_ALERT_QUEUES = (
    "transform(alert.queues, q -> named_struct('broker_name', q.broker_name, 'queue_id', CAST(q.queue_id AS INT),"
    f" 'actual_owners', {_owners('q', 'alert.kind')}, 'expected_owners', q.expected, 'waiting', q.waiting))"
)
_ALERT_CLIENTS = (
    "transform(alert.clients, c -> named_struct('client_id', c.client_id, 'addresses', c.addresses,"
    " 'brokers', c.brokers, 'version', c.version, 'strategy', c.strategy, 'subscriptions', c.subscriptions,"
    " 'start_times', transform(c.start_ts, t -> timestamp_millis(t)),"
    " 'answered_time', timestamp_millis(c.answered_ts)))"
)
_ALERT_CHANGES = (
    "transform(alert.changes, c -> named_struct('change_time', timestamp_millis(c.ts), 'what', c.what,"
    " 'subject', c.subject))"
)

SOURCES: dict[str, Source] = {
    "queue_findings": Source(
        "fact = 'queue' AND queue.ended IS NOT NULL",
        _fields("queue", "broker_name", "queue_id", next_finding="finding")
        | _fields("queue.ended", "finding", "severity", "cause", expected_owners="expected")
        | {"actual_owners": _owners("queue.ended", "queue.ended.finding")}
        | _times("queue.ended", from_time="from_ts", to_time="to_ts")
        | {"duration_ms": "queue.ended.to_ts - queue.ended.from_ts"},
    ),
    "membership_changes": Source(
        "fact = 'membership'",
        _fields("membership", "broker_name", "client_id", "change", "reason", "entries", "addresses", "first_seen"),
    ),
    "rebalances": Source(
        "fact = 'rebalance'",
        _fields("rebalance", "trigger", "topics", "converged", "queues_moved", "fewest_moves")
        | _fields("rebalance", "duplicated_ms", "orphaned_ms", members_joined="joined", members_left="left")
        | _times("rebalance", from_time="from_ts", to_time="to_ts")
        | {"duration_ms": "rebalance.to_ts - rebalance.from_ts"},
    ),
    "alerts": Source(
        "fact = 'alert'",
        _fields("alert", "kind", "fingerprint", "state", "severity", "cause", "observed", "reason", "stale", "waiting")
        | _times("alert", active_time="active_ts", fired_time="fired_ts", resolved_time="resolved_ts")
        | _times("alert", since_time="since_ts", oldest_time="oldest_ts")
        | {"evidence": "nullif(alert.evidence, '')"}
        | {"queues": _ALERT_QUEUES, "clients": _ALERT_CLIENTS, "changes": _ALERT_CHANGES},
    ),
    "group_status": Source(
        "fact = 'group'",
        _fields("group_status", "status", "reason", "members", "members_reporting", "queues", finding_counts="counts")
        | _fields("group_status", "brokers_covered", "brokers_known"),
    ),
    "quarantine": Source(
        "fact = 'quarantine'",
        _fields("quarantine", "reason", "detail", "length", "sha256", "source_topic", value="bytes")
        | _fields("quarantine", "source_partition", "source_offset")
        | {"cluster": "nullif(cluster, '')", "consumer_group": "nullif(`group`, '')"}
        | {"record_key": _text("quarantine.record_key"), "preview": _text("substring(quarantine.bytes, 1, 200)")},
    ),
    "monitor_health": Source(
        "fact = 'health'",
        _fields("health", "status", "batch_id", "rounds", "events", "quarantined", "brokers_unanswered", "lag_ms")
        | _fields("health", "events_per_s", "batch_ms", "state_bytes", "records_lost", "detail")
        | _fields("health", consumer_groups="groups"),
    ),
    "monitor_faults": Source(
        "fact IN ('evaluation_failed', 'events_lost')",
        _fields("evaluation_failed", "error", place="where")
        | _fields("events_lost", "source")
        | {"fault": "fact", "events_lost": "events_lost.received_seq - events_lost.expected_seq"},
    ),
    "queue_assignments": Source(
        "fact = 'queue'",
        _fields("queue", "broker_name", "queue_id", "finding", "severity", "cause", "reason", "present")
        | _fields("queue", expected_owners="expected")
        | {"actual_owners": f"if(queue.present, {_owners('queue', 'queue.finding')}, queue.owners)"}
        | _times("queue", since="since_ts"),
    ),
    "group_members": Source(
        "fact = 'member'",
        _fields("member", "client_id", "present", "brokers", "instances", "addresses", "language", "version")
        | _fields("member", "message_model", "strategy", "orderly", "subscriptions")
        | _times("member", since="since_ts", start_time="start_ts"),
    ),
}
