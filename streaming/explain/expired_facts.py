"""What still holds though its facts have expired: the newest rows of the tables that keep them, as facts again.

A queue that has not changed for longer than facts are kept stands in ``queue_assignments`` alone.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from deltalake.exceptions import TableNotFoundError

from schemas.facts import AlertFact, AlertQueue, Fact, GroupFact, MemberFact, Payload, QueueFact
from schemas.history import ALERTS, GROUP_STATUS
from schemas.observed import Observed
from schemas.table import Table
from schemas.tables import GROUP_MEMBERS, QUEUE_ASSIGNMENTS
from streaming.tables.fact_rows import built
from streaming.tables.query import Selection, damage_said, is_told_by, quoted, text

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Row = dict[str, Any]


def read_standing(tables: str, group: str, cluster: str | None, until: int | None) -> list[Fact]:
    """Facts of the group in their order, as far as these tables tell; none where there are no such tables."""
    facts = [fact for source in _SOURCES for fact in _read(source, tables, group, cluster, until)]
    return sorted(facts, key=lambda fact: (fact.cluster, fact.seq))


def read_groups(tables: str) -> set[tuple[str, str]]:
    """(cluster, group) of every group whose status is known."""
    known = _open(GROUP_STATUS, tables)
    rows = known.distinct(["cluster", "consumer_group"]).to_pylist() if known else []
    return {(row["cluster"], row["consumer_group"]) for row in rows}


class _Source(NamedTuple):
    table: Table
    payload: Callable[[Row], Payload]


def _read(source: _Source, tables: str, group: str, cluster: str | None, until: int | None) -> Iterator[Fact]:
    wanted = f"{quoted('consumer_group')} = {text(group)}"
    if cluster is not None:
        wanted += f" AND {quoted('cluster')} = {text(cluster)}"
    wanted += f" AND {is_told_by(until, by_day='date' in source.table.partitioned_by)}"
    known = _open(source.table, tables)
    names = [column.name for column in source.table.columns]
    for row in known.rows(names, wanted).to_pylist() if known else []:
        topic = row.get("topic") or None
        yield Fact(row["seq"], row["cluster"], group, topic, _millis(row["ts"]) or 0, source.payload(row))


def _open(table: Table, tables: str) -> Selection | None:
    """None where there is no such table."""
    path = f"{tables}/{table.name}"
    with damage_said(path):
        try:
            return Selection(path)
        except TableNotFoundError:
            return None


def _millis(when: datetime | None) -> int | None:
    return None if when is None else (when - _EPOCH) // timedelta(milliseconds=1)


def _many(value: list[str] | None) -> tuple[str, ...]:
    return tuple(value or ())


def _queue(row: Row) -> QueueFact:
    expected = row["expected_owners"]
    return QueueFact(
        broker_name=row["broker_name"],
        queue_id=row["queue_id"],
        finding=row["finding"],
        severity=row["severity"],
        cause=row["cause"],
        reason=row["reason"],
        owners=_many(row["actual_owners"]),
        expected=None if expected is None else tuple(expected),
        since_ts=_millis(row["since"]) or 0,
        present=row["present"],
    )


def _member(row: Row) -> MemberFact:
    return MemberFact(
        client_id=row["client_id"],
        present=row["present"],
        since_ts=_millis(row["since"]) or 0,
        brokers=_many(row["brokers"]),
        instances=row["instances"],
        addresses=_many(row["addresses"]),
        language=row["language"],
        version=row["version"],
        message_model=row["message_model"],
        strategy=row["strategy"],
        orderly=row["orderly"],
        subscriptions=_many(row["subscriptions"]),
        start_ts=_millis(row["start_time"]),
    )


def _alert(row: Row) -> AlertFact:
    return AlertFact(
        fingerprint=row["fingerprint"],
        state=row["state"],
        severity=row["severity"],
        kind=row["kind"],
        cause=row["cause"],
        evidence=row.get("evidence") or "",
        observed=built(Observed, row.get("observed")),
        queues=tuple(AlertQueue(queue["broker_name"], queue["queue_id"]) for queue in row["queues"] or ()),
        reason=row["reason"],
        active_ts=_millis(row["active_time"]) or 0,
        fired_ts=_millis(row["fired_time"]),
        resolved_ts=_millis(row["resolved_time"]),
        stale=bool(row["stale"]),
    )


def _status(row: Row) -> GroupFact:
    return GroupFact(
        status=row["status"],
        members=row["members"],
        queues=row["queues"],
        counts=dict(row["finding_counts"] or ()),
        brokers_covered=row["brokers_covered"],
        brokers_known=row["brokers_known"],
        members_reporting=row["members_reporting"],
        reason=row["reason"],
    )


_SOURCES = (
    _Source(QUEUE_ASSIGNMENTS, _queue),
    _Source(GROUP_MEMBERS, _member),
    _Source(ALERTS, _alert),
    _Source(GROUP_STATUS, _status),
)
