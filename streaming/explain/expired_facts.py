"""What still holds though its facts were deleted: the newest rows of the tables that keep it, as facts again.

A queue that has not changed for longer than facts are kept is in ``queue_assignments`` alone.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from schemas.facts import AlertFact, Fact, GroupFact, MemberFact, Payload, QueueFact
from schemas.history_tables import ALERTS, GROUP_STATUS
from schemas.table_definition import Table
from schemas.tables import GROUP_MEMBERS, QUEUE_ASSIGNMENTS
from streaming.tables.fact_rows import built
from streaming.tables.query import is_of_day_from, is_told_by, millis, quoted, selection_of, text


class Source(NamedTuple):
    """``column_of``: columns that are named other than the fact's field."""

    table: Table
    kind: type[Payload]
    column_of: dict[str, str]


def read_expired(
    tables: str,
    group: str,
    cluster: str | None,
    until: int | None,
    since: int | None = None,
    sources: Iterable[Source] | None = None,
) -> list[Fact]:
    """Facts of the group in their order, as far as these tables tell; none where there are no such tables.

    ``since``: rows of earlier days are left out of the tables that have days. ``sources`` None: those of what holds.
    """
    wanted = _of_group(group, cluster)
    facts = [
        fact
        for source in (SOURCES if sources is None else sources)
        for fact in read_source(source, tables, f"{wanted} AND {_within(source.table, since, until)}")
    ]
    return sorted(facts, key=lambda fact: (fact.cluster, fact.seq))


def read_groups(tables: str) -> set[tuple[str, str]]:
    """(cluster, group) of every group whose status is known."""
    known = selection_of(tables, GROUP_STATUS.name)
    rows = known.distinct(["cluster", "consumer_group"]).to_pylist() if known else []
    return {(row["cluster"], row["consumer_group"]) for row in rows}


def _of_group(group: str, cluster: str | None) -> str:
    wanted = f"{quoted('consumer_group')} = {text(group)}"
    return wanted if cluster is None else f"{wanted} AND {quoted('cluster')} = {text(cluster)}"


def _within(table: Table, since: int | None, until: int | None) -> str:
    by_day = "date" in table.partitioned_by
    told = is_told_by(until, by_day=by_day)
    return f"{is_of_day_from(since)} AND {told}" if by_day and since is not None else told


def read_source(source: Source, tables: str, wanted: str) -> Iterator[Fact]:
    """The rows that meet the condition ``wanted``, as facts again, in no order."""
    known = selection_of(tables, source.table.name)
    return source_facts(source, known.rows(source.table.columns, wanted)) if known else iter(())


def source_facts(source: Source, rows: pa.Table) -> Iterator[Fact]:
    """Rows of the source's table as facts, in their order. A table without ``seq`` tells facts of no group."""
    for row in rows.to_pylist():
        cluster, group, topic = row["cluster"], row.get("consumer_group") or "", row.get("topic") or None
        ts = _millis(row["ts"])
        yield Fact(row.get("seq", ts), cluster, group, topic, ts, _payload(source, row))


def _payload(source: Source, row: dict[str, Any]) -> Payload:
    values = {}
    for field in source.kind.__struct_fields__:
        value = row.get(source.column_of.get(field, field))
        if field in _NESTED and isinstance(value, list):
            value = _nested(value)
        values[field] = _IF_NULL.get(field) if value is None else _millis(value)
    payload: Payload = built(source.kind, values)
    return payload


def _millis(value: Any) -> Any:
    return millis(value) if isinstance(value, datetime) else value


def _nested(structs: Any) -> Any:
    """Structs of a column, whose fields the table names otherwise than the fact."""
    return [{_FIELD_OF.get(name, name): _as_told(value) for name, value in one.items()} for one in structs]


def _as_told(value: Any) -> Any:
    return [_millis(one) for one in value] if isinstance(value, list) else _millis(value)


_NESTED = ("queues", "clients", "changes")
_FIELD_OF = {
    "actual_owners": "owners",
    "expected_owners": "expected",
    "start_times": "start_ts",
    "answered_time": "answered_ts",
    "read_time": "read_ts",
    "change_time": "ts",
}
_IF_NULL: dict[str, Any] = {
    "owners": [],
    "queues": [],
    "counts": [],
    "fullest": [],
    "evidence": "",
    "since_ts": 0,
    "active_ts": 0,
}
ALERT_ROWS = Source(
    ALERTS,
    AlertFact,
    {
        "active_ts": "active_time",
        "fired_ts": "fired_time",
        "resolved_ts": "resolved_time",
        "since_ts": "since_time",
        "oldest_ts": "oldest_time",
        "read_ts": "read_time",
        "seen_ts": "seen_time",
        "right_since_ts": "right_since_time",
        "waits_until_ts": "waits_until_time",
        "deploy_since_ts": "deploy_since_time",
    },
)
STATUS_ROWS = Source(
    GROUP_STATUS, GroupFact, {"counts": "finding_counts", "read_ts": "read_time", "fullest": "fullest_queues"}
)
SOURCES = (
    Source(
        QUEUE_ASSIGNMENTS,
        QueueFact,
        {"owners": "actual_owners", "expected": "expected_owners", "since_ts": "since_time"},
    ),
    Source(GROUP_MEMBERS, MemberFact, {"since_ts": "since_time", "start_ts": "start_time"}),
    ALERT_ROWS,
    STATUS_ROWS,
)
