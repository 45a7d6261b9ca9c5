"""Reads the state of evenkeel itself from the tables: pages sent, records refused, faults."""

from collections.abc import Callable
from typing import Any

from schemas.tables import MONITOR_FAULTS, NOTIFICATIONS, QUARANTINE
from streaming.tables.query import is_of_day_from, millis, selection_of
from streaming.web.views.upkeep import Fault, Quarantined, Sink, Upkeep

MOST_ROWS = 20
_DAY_MS = 86_400_000


def read_upkeep(tables: str, now: int) -> Upkeep:
    """The rows of today and yesterday. Raises SourceError for damaged files."""
    day = is_of_day_from(now - _DAY_MS)
    return Upkeep(
        tuple(_rows(tables, NOTIFICATIONS.name, f"{_SINKS} WHERE {day} GROUP BY sink ORDER BY sink", _sink)),
        tuple(_rows(tables, QUARANTINE.name, f"{_QUARANTINED} WHERE {day} {_BY_REASON}", _quarantined)),
        tuple(_rows(tables, MONITOR_FAULTS.name, f"{_FAULTS} WHERE {day} ORDER BY ts DESC LIMIT {MOST_ROWS}", _fault)),
    )


_SINKS = """
    SELECT sink, max(CASE WHEN outcome = 'delivered' THEN ts END) AS delivered,
           max(CASE WHEN outcome <> 'delivered' THEN ts END) AS failed,
           sum(CASE WHEN outcome = 'delivered' THEN 1 ELSE 0 END) AS deliveries,
           sum(CASE WHEN outcome <> 'delivered' THEN 1 ELSE 0 END) AS failures FROM rows
"""
_QUARANTINED = """
    SELECT reason, sum(coalesce(events, 1)) AS number, max(ts) AS ts, max(detail) AS detail,
           max(source_topic) AS place FROM rows
"""
_BY_REASON = f"GROUP BY reason ORDER BY number DESC LIMIT {MOST_ROWS}"
_FAULTS = 'SELECT ts, "cluster", consumer_group, fault, error, "source", events_lost FROM rows'


def _rows(tables: str, name: str, sql: str, made: Callable[[dict[str, Any]], Any]) -> list[Any]:
    """The rows of a table; none if the table does not exist yet."""
    rows = selection_of(tables, name)
    return [] if rows is None else [made(row) for row in rows.ask(sql).to_pylist()]


def _sink(row: dict[str, Any]) -> Sink:
    return Sink(row["sink"], _ms(row["delivered"]), _ms(row["failed"]), row["deliveries"], row["failures"])


def _quarantined(row: dict[str, Any]) -> Quarantined:
    return Quarantined(row["reason"], row["number"], _ms(row["ts"]) or 0, row["detail"] or "", row["place"] or "")


def _fault(row: dict[str, Any]) -> Fault:
    what = row["error"] or f"{row['source']}: {row['events_lost']}"
    return Fault(_ms(row["ts"]) or 0, row["cluster"], row["consumer_group"], row["fault"], what)


def _ms(when: Any) -> int | None:
    return None if when is None else millis(when)
