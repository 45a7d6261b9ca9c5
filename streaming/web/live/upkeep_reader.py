"""Reads the state of evenkeel itself from the tables: pages sent, records refused, faults."""

from datetime import datetime
from typing import Any

from schemas.tables import MONITOR_FAULTS, NOTIFICATIONS, QUARANTINE
from streaming.tables.query import is_of_day_from, millis, selection_of
from streaming.web.views.upkeep import Upkeep

MOST_ROWS = 20
_DAY_MS = 86_400_000


def read_upkeep(tables: str, now: int) -> Upkeep:
    """The rows of today and yesterday. Raises SourceError for damaged files."""
    day = is_of_day_from(now - _DAY_MS)
    return Upkeep(
        _rows(tables, NOTIFICATIONS.name, f"{_SINKS} WHERE {day} GROUP BY sink ORDER BY sink"),
        _rows(tables, QUARANTINE.name, f"{_QUARANTINED} WHERE {day} {_BY_REASON}"),
        _rows(tables, MONITOR_FAULTS.name, f"{_FAULTS} WHERE {day} ORDER BY ts DESC LIMIT {MOST_ROWS}"),
    )


_SINKS = """
    SELECT sink AS name, max(CASE WHEN outcome <> 'delivered' THEN ts END)
             > coalesce(max(CASE WHEN outcome = 'delivered' THEN ts END), to_timestamp(0)) AS is_failing,
           sum(CASE WHEN outcome = 'delivered' THEN 1 ELSE 0 END) AS deliveries,
           sum(CASE WHEN outcome <> 'delivered' THEN 1 ELSE 0 END) AS failures FROM rows
"""
_QUARANTINED = """
    SELECT reason, sum(coalesce(events, 1)) AS number, max(ts) AS ts,
           coalesce(max(detail), '') AS detail, coalesce(max(source_topic), '') AS place FROM rows
"""
_BY_REASON = f"GROUP BY reason ORDER BY number DESC LIMIT {MOST_ROWS}"
_FAULTS = """
    SELECT ts, "cluster", consumer_group AS "group", fault,
           coalesce(nullif(error, ''), concat("source", ': ', events_lost)) AS what FROM rows
"""


def _rows(tables: str, name: str, sql: str) -> list[dict[str, Any]]:
    """The answer of a table, with times in milliseconds; nothing if the table does not exist yet."""
    rows = selection_of(tables, name)
    found = [] if rows is None else rows.ask(sql).to_pylist()
    return [
        {key: millis(value) if isinstance(value, datetime) else value for key, value in row.items()} for row in found
    ]
