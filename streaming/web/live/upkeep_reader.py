"""Reads the state of evenkeel itself from the tables: pages sent, records refused, faults."""

from datetime import datetime
from threading import Lock
from typing import Any

from schemas.tables import MONITOR_FAULTS, NOTIFICATIONS, QUARANTINE
from streaming.tables.query import is_of_day_from, millis, selection_of
from streaming.web.views.upkeep import Upkeep

MOST_ROWS = 20
_DAY_MS = 86_400_000


class UpkeepReader:
    """Reads the rows of today and yesterday. A table that has not changed since then is not read again.

    The page is loaded at each change of any group, and a table may have hundreds of files. Threads may share a reader.
    """

    def __init__(self, tables: str) -> None:
        self._tables, self._lock = tables, Lock()
        self._answers: dict[str, tuple[object, list[dict[str, Any]]]] = {}  # by table: what it answers, and the rows

    def read(self, now: int) -> Upkeep:
        """The upkeep of today and yesterday. Raises SourceError for damaged files."""
        day = is_of_day_from(now - _DAY_MS)
        with self._lock:
            return Upkeep(
                self._rows(NOTIFICATIONS.name, f"{_SINKS} WHERE {day} GROUP BY sink ORDER BY sink"),
                self._rows(QUARANTINE.name, f"{_QUARANTINED} WHERE {day} {_BY_REASON}"),
                self._rows(MONITOR_FAULTS.name, f"{_FAULTS} WHERE {day} ORDER BY ts DESC LIMIT {MOST_ROWS}"),
            )

    def _rows(self, name: str, sql: str) -> list[dict[str, Any]]:
        """The answer of a table; nothing if the table does not exist yet."""
        table = selection_of(self._tables, name)
        if table is None:
            return []
        asked, (answered, rows) = (table.version, sql), self._answers.get(name, (None, []))
        if asked != answered:
            rows = [_with_millis(row) for row in table.ask(sql).to_pylist()]
            self._answers[name] = asked, rows
        return rows


def _with_millis(row: dict[str, Any]) -> dict[str, Any]:
    return {key: millis(value) if isinstance(value, datetime) else value for key, value in row.items()}


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
