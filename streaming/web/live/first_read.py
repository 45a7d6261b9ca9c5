"""Facts that the pages start with, from the tables: the newest status of each group, alerts, evenkeel's health."""

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.facts import Fact
from schemas.table_definition import Table
from schemas.tables import ALERTS, GROUP_STATUS, MONITOR_HEALTH
from streaming.core.retention import FORGET_AFTER_MS
from streaming.explain.read_facts import read_table
from streaming.tables.fact_rows import facts_in
from streaming.tables.query import is_one_of, millis, selection_of, text

NAMES_AT_ONCE = 500
_NEWEST_HEALTH = (
    "SELECT cluster, max(ts) AS ts FROM rows WHERE date >= (SELECT max(date) FROM rows) - INTERVAL '1 day' "
    "GROUP BY cluster"
)
_NEWEST_STATUS = """
    SELECT * FROM (
      SELECT *, row_number() OVER (PARTITION BY cluster, consumer_group ORDER BY seq DESC) AS age,
             lead(seq) OVER (PARTITION BY cluster, consumer_group ORDER BY seq) AS next,
             max(CASE WHEN before IS NULL OR before <> status THEN seq END)
               OVER (PARTITION BY cluster, consumer_group) AS began
      FROM (
        SELECT *, lag(status) OVER (PARTITION BY cluster, consumer_group ORDER BY seq) AS before
        FROM rows WHERE date >= (SELECT max(date) FROM rows) - INTERVAL '1 day'
      ) AS recent
    ) AS statuses WHERE age = 1 OR seq = began OR next = began ORDER BY seq
"""
_GROUPS = """
    SELECT cluster, consumer_group, seq FROM (
      SELECT cluster, consumer_group, max(seq) AS seq, max(ts) AS ts, max(max(ts)) OVER (PARTITION BY cluster) AS seen
      FROM rows GROUP BY cluster, consumer_group
    ) AS groups WHERE ts >= seen - INTERVAL '{} milliseconds'
"""
_NEWEST_ALERTS = """
    SELECT fingerprint, seq FROM (
      SELECT fingerprint, seq, state, date, row_number() OVER (PARTITION BY fingerprint ORDER BY seq DESC) AS age
      FROM rows
    ) AS newest
    WHERE age = 1 AND (state <> 'resolved' OR date >= (SELECT max(date) FROM rows) - INTERVAL '1 day')
"""


def first_facts(tables: str, forget_after_ms: int = FORGET_AFTER_MS) -> Iterator[Fact]:
    """The first facts. They include the beginning of each status and the status before, so its ``since`` is known.

    No status of groups that are gone: they have had none for ``forget_after_ms``, by the time of their cluster.
    """
    yield from _statuses(tables, forget_after_ms)
    yield from _alerts(tables)
    yield from _health(tables)


def _statuses(tables: str, forget_after_ms: int) -> Iterator[Fact]:
    """The newest statuses. Most groups have a row within an hour; for others only the newest row is read."""
    rows = selection_of(tables, GROUP_STATUS.name)
    if rows is None:
        return
    recent = list(facts_in(GROUP_STATUS, rows.ask(_NEWEST_STATUS)))
    yield from recent
    known = {(fact.cluster, fact.group) for fact in recent}
    groups = _GROUPS.format(forget_after_ms)
    every = {(row["cluster"], row["consumer_group"]): row["seq"] for row in rows.ask(groups).to_pylist()}
    for some in _in_pieces(sorted({group for cluster, group in every if (cluster, group) not in known})):
        for fact in read_table(GROUP_STATUS, tables, is_one_of("consumer_group", some)):
            if every.get((fact.cluster, fact.group)) == fact.seq:
                yield fact


def _alerts(tables: str) -> Iterator[Fact]:
    newest = {row["fingerprint"]: row["seq"] for row in _rows(tables, ALERTS, _NEWEST_ALERTS)}
    for some in _in_pieces(sorted(newest)):
        for fact in read_table(ALERTS, tables, is_one_of("fingerprint", some)):
            if newest.get(fact.payload.fingerprint) == fact.seq:  # type: ignore[attr-defined]
                yield fact


def _health(tables: str) -> Iterator[Fact]:
    for row in _rows(tables, MONITOR_HEALTH, _NEWEST_HEALTH):
        at = millis(row["ts"])
        yield from read_table(
            MONITOR_HEALTH, tables, f'"cluster" = {text(row["cluster"])} AND "ts" = to_timestamp_millis({at})'
        )


def _rows(tables: str, table: Table, sql: str) -> list[dict[str, Any]]:
    known = selection_of(tables, table.name)
    return [] if known is None else known.ask(sql).to_pylist()


def _in_pieces(items: list[str]) -> Iterable[list[str]]:
    return (items[begin : begin + NAMES_AT_ONCE] for begin in range(0, len(items), NAMES_AT_ONCE))
