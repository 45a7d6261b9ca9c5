"""Which facts make which table, and each column as a function of these facts, which are an Arrow table."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from schemas.ddl import payload_column
from schemas.facts import (
    AlertFact,
    EvaluationFailedFact,
    EventsLostFact,
    GroupFact,
    HealthFact,
    MemberFact,
    MembershipFact,
    Payload,
    QuarantineFact,
    QueueFact,
    RebalanceFact,
)
from schemas.history_tables import ALERTS
from schemas.table_definition import Table
from schemas.tables import FACTS
from streaming.tables.arrow_types import arrow_schema, without_comments

Value = Callable[[pa.Table], pa.ChunkedArray]

KEYS = ("fact", "seq", "cluster", "group", "topic", "ts")
PREVIEW_BYTES = 200
NOBODY = pa.array(["ORPHANED", "NO_MEMBERS"])  # of what is found so, it is proven that nobody owns it
FACTS_SCHEMA = arrow_schema(FACTS)


class Source(NamedTuple):
    """``kinds``: the facts that make a row; ``columns``: each column that isn't named as in ``facts``.

    ``needs``: a field that must not be null.
    """

    kinds: tuple[type[Payload], ...]
    columns: Mapping[str, Value]
    needs: str | None = None


def rows_of(table: Table, facts: pa.Table) -> pa.Table:
    """The rows that these facts make in ``table``, with its columns and types."""
    source, schema = SOURCES[table.name], without_comments(arrow_schema(table))
    chosen = _facts_of(source, facts)
    return pa.table([_column(source, field.name, chosen).cast(field.type) for field in schema], schema=schema)


def _facts_of(source: Source, facts: pa.Table) -> pa.Table:
    """The facts of the source's kinds, with the columns that these fill."""
    chosen = facts.filter(pc.is_in(facts["fact"], pa.array([kind.fact for kind in source.kinds])))
    chosen = chosen.select([*KEYS, *map(payload_column, source.kinds)])
    return chosen if source.needs is None else chosen.filter(pc.is_valid(_at(source.needs)(chosen)))


def _column(source: Source, name: str, facts: pa.Table) -> pa.ChunkedArray:
    return (source.columns.get(name) or _OF_ALL_TABLES.get(name) or _at(name))(facts)


def _at(path: str) -> Value:
    """``queue.ended.finding``: null where there is no such struct."""
    column, *fields = path.split(".")
    return lambda facts: pc.struct_field(facts[column], fields) if fields else facts[column]


def _fields(struct: str, *names: str, **renamed: str) -> dict[str, Value]:
    """Columns taken from the payload: under their own names, or ``column="field"``."""
    paths = {name: name for name in names} | renamed
    return {column: _at(f"{struct}.{field}") for column, field in paths.items()}


def _times(struct: str, **columns: str) -> dict[str, Value]:
    """``column="field"`` with epoch milliseconds."""
    return {name: _time(f"{struct}.{field}") for name, field in columns.items()}


def _time(path: str) -> Value:
    return lambda facts: _at(path)(facts).cast(pa.timestamp("ms", "UTC"))


def _difference(more: str, less: str) -> Value:
    return lambda facts: pc.subtract(_at(more)(facts), _at(less)(facts))


def _filled(path: str) -> Value:
    """Null for an empty string."""

    def value(facts: pa.Table) -> pa.ChunkedArray:
        texts = _at(path)(facts)
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)

    return value


def _owners(struct: str) -> Value:
    """No owner means nobody only where that was proven, else that owners are not known."""

    def value(facts: pa.Table) -> pa.ChunkedArray:
        owners = _at(f"{struct}.owners")(facts)
        is_proven = pc.is_in(_at(f"{struct}.finding")(facts), NOBODY)
        is_known = pc.or_kleene(pc.greater(pc.list_value_length(owners), 0), is_proven)
        return pc.if_else(is_known, owners, pa.scalar(None, owners.type))

    return value


def _owners_now(facts: pa.Table) -> pa.ChunkedArray:
    """Of a queue that is gone it is known that nobody owns it."""
    present = pc.fill_null(_at("queue.present")(facts), False)
    return pc.if_else(present, _owners("queue")(facts), _at("queue.owners")(facts))


def _text(path: str, length: int | None = None) -> Value:
    """Bytes, the first ``length`` of them, as text that every reader can decode."""

    def value(facts: pa.Table) -> pa.ChunkedArray:
        values = _at(path)(facts).to_pylist()
        texts = [None if one is None else one[:length].decode("utf-8", "replace") for one in values]
        return pa.chunked_array([pa.array(texts, pa.string())])

    return value


def _structs(column: str, field: str, make: Callable[[dict[str, Any], str], dict[str, Any]]) -> Value:
    """A list of structs of an alert; ``make`` gets one of them, and the alert's kind. There are few alerts."""
    made_type = arrow_schema(ALERTS).field(column).type

    def value(facts: pa.Table) -> pa.ChunkedArray:
        lists, kinds = (_at(f"alert.{name}")(facts).to_pylist() for name in (field, "kind"))
        both = zip(lists, kinds, strict=True)
        made = [None if structs is None else [make(one, kind) for one in structs] for structs, kind in both]
        return pa.chunked_array([pa.array(made, made_type)])

    return value


def _alert_queue(queue: dict[str, Any], kind: str) -> dict[str, Any]:
    owners = queue["owners"]
    return {
        "broker_name": queue["broker_name"],
        "queue_id": queue["queue_id"],
        "actual_owners": owners if owners or kind in NOBODY.to_pylist() else None,
        "expected_owners": queue["expected"],
        "waiting": queue["waiting"],
        "read_time": _micros(queue["read_ts"]),
    }


def _alert_client(client: dict[str, Any], kind: str) -> dict[str, Any]:
    same = ("client_id", "addresses", "brokers", "version", "strategy", "subscriptions")
    times = {"start_times": _micros_of(client["start_ts"]), "answered_time": _micros(client["answered_ts"])}
    return {name: client[name] for name in same} | times


def _alert_change(change: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"change_time": _micros(change["ts"]), "what": change["what"], "subject": change["subject"]}


def _micros(millis: int | None) -> int | None:
    return None if millis is None else millis * 1000


def _micros_of(millis: Iterable[int] | None) -> list[int | None] | None:
    return None if millis is None else list(map(_micros, millis))


_OF_ALL_TABLES: dict[str, Value] = {"consumer_group": _at("group"), "date": _at("ts")}

SOURCES: dict[str, Source] = {
    "queue_findings": Source(
        (QueueFact,),
        _fields("queue", "broker_name", "queue_id", next_finding="finding")
        | _fields("queue.ended", "finding", "severity", "cause", expected_owners="expected")
        | {"actual_owners": _owners("queue.ended")}
        | _times("queue.ended", from_time="from_ts", to_time="to_ts")
        | {"duration_ms": _difference("queue.ended.to_ts", "queue.ended.from_ts")},
        needs="queue.ended",
    ),
    "membership_changes": Source(
        (MembershipFact,),
        _fields("membership", "broker_name", "client_id", "change", "reason", "entries", "addresses", "first_seen"),
    ),
    "rebalances": Source(
        (RebalanceFact,),
        _fields("rebalance", "trigger", "topics", "converged", "queues_moved", "fewest_moves")
        | _fields("rebalance", "duplicated_ms", "orphaned_ms", members_joined="joined", members_left="left")
        | _times("rebalance", from_time="from_ts", to_time="to_ts")
        | {"duration_ms": _difference("rebalance.to_ts", "rebalance.from_ts")},
    ),
    "alerts": Source(
        (AlertFact,),
        _fields("alert", "kind", "fingerprint", "state", "severity", "cause", "observed", "reason", "stale", "waiting")
        | _fields("alert", "kept_open", "waits_for")
        | _times("alert", active_time="active_ts", fired_time="fired_ts", resolved_time="resolved_ts")
        | _times("alert", since_time="since_ts", oldest_time="oldest_ts", read_time="read_ts", seen_time="seen_ts")
        | _times("alert", right_since_time="right_since_ts", waits_until_time="waits_until_ts")
        | _times("alert", deploy_since_time="deploy_since_ts")
        | {"evidence": _filled("alert.evidence"), "queues": _structs("queues", "queues", _alert_queue)}
        | {"clients": _structs("clients", "clients", _alert_client)}
        | {"changes": _structs("changes", "changes", _alert_change)},
    ),
    "group_status": Source(
        (GroupFact,),
        _fields("group_status", "status", "reason", "reason_details", "members", "members_reporting", "queues")
        | _fields(
            "group_status", "brokers_covered", "brokers_known", "waiting", "retry_counts", finding_counts="counts"
        )
        | _fields("group_status", fullest_queues="fullest")
        | _times("group_status", read_time="read_ts"),
    ),
    "quarantine": Source(
        (QuarantineFact,),
        _fields("quarantine", "reason", "detail", "length", "sha256", "source_topic", "events", value="bytes")
        | _fields("quarantine", "source_partition", "source_offset")
        | {"cluster": _filled("cluster"), "consumer_group": _filled("group")}
        | {"record_key": _text("quarantine.record_key"), "preview": _text("quarantine.bytes", PREVIEW_BYTES)},
    ),
    "monitor_health": Source(
        (HealthFact,),
        _fields("health", "status", "batch_id", "rounds", "events", "quarantined", "brokers_unanswered", "lag_ms")
        | _fields("health", "events_per_s", "batch_ms", "state_bytes", "records_lost", "detail", "contradicting")
        | _fields("health", "working_ms", "kafka_error", "unread", consumer_groups="groups")
        | _times("health", batch_ended_time="batch_ended_ts", kafka_time="kafka_ts")
        | _times("health", quiet_since_time="quiet_since_ts"),
    ),
    "monitor_faults": Source(
        (EvaluationFailedFact, EventsLostFact),
        _fields("evaluation_failed", "error", place="where")
        | _fields("events_lost", "source")
        | {"fault": _at("fact"), "events_lost": _difference("events_lost.received_seq", "events_lost.expected_seq")},
    ),
    "queue_assignments": Source(
        (QueueFact,),
        _fields("queue", "broker_name", "queue_id", "finding", "severity", "cause", "reason", "reason_details")
        | _fields("queue", "present", expected_owners="expected")
        | {"actual_owners": _owners_now}
        | _times("queue", since_time="since_ts")
        | {"from_time": _at("ts")},
    ),
    "group_members": Source(
        (MemberFact,),
        _fields("member", "client_id", "present", "brokers", "instances", "addresses", "language", "version")
        | _fields("member", "message_model", "strategy", "orderly", "subscriptions")
        | _times("member", since_time="since_ts", start_time="start_ts"),
    ),
}
