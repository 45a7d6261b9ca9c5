"""Facts of three days, on which every table gets rows and current state changes; and facts that maintenance drops."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from schemas.facts import EvaluationFailedFact, EventsLostFact, Fact
from schemas.tables import PROJECTIONS
from tests.tables.telling import DAY, HOUR, SECOND, Teller, health, millis, quarantined

START = millis("2026-03-01 12:00")
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
TODAY = millis("2026-03-10 12:00")  # of ``some_days``


def three_days() -> list[list[Fact]]:
    teller, days = Teller(), []
    for day in range(3):
        at = START + day * DAY
        days.append(
            [
                teller.queue(at, 0, "ORPHANED", ("MATCH", at - DAY) if day else None, owners=(), severity="critical"),
                teller.queue(at + HOUR, 0, "MATCH", ("ORPHANED", at), owners=(f"client-{day}",)),
                teller.queue(at, 1, "MATCH", present=day < 2),
                teller.member(at, "a", brokers=("broker-a",), start_ts=at),
                teller.member(at, f"b{day}"),
                teller.member(at + HOUR, f"b{day}", present=False),
                teller.membership(at, f"b{day}"),
                teller.membership(at + HOUR, f"b{day}", "disappeared"),
                teller.rebalance(at + HOUR, 20 * SECOND, 3, 2, orphaned=9000),
                teller.alert(at, "firing"),
                teller.alert(at + HOUR, "resolved"),
                teller.status(at, "findings", MATCH=1, ORPHANED=1),
                teller._fact(at, EvaluationFailedFact(error="KeyError", where="evaluate")),
                teller._fact(at, EventsLostFact(source="tap-1", expected_seq=5, received_seq=9)),
                health("prod", at),
                quarantined(at, day),
            ]
        )
    return days


def some_days() -> Iterator[list[Fact]]:
    """Facts of 10 days ago, 3 days ago and today, two commits a day; the group's status last changed 10 days ago."""
    teller = Teller()
    for ts in (TODAY - 10 * DAY, TODAY - 3 * DAY, TODAY):
        for part in range(2):
            at = ts + part * HOUR
            yield [
                teller.queue(at, 0, "MATCH" if part else "ORPHANED", ("MATCH", at - HOUR)),
                teller.alert(at, ("firing", "resolved")[part]),
                teller.member(at, f"client-{ts}", present=not part),
                health("prod", at),
                *([teller.status(at, "healthy", MATCH=1)] if ts < TODAY - 5 * DAY else []),
            ]


def read(tables: Path, name: str, **wanted: Any) -> list[dict[str, Any]]:
    """Rows of a table whose columns have these values."""
    found = DeltaTable(str(tables / name)).to_pyarrow_table().to_pylist()
    return [row for row in found if all(row[column] == value for column, value in wanted.items())]


def one(tables: Path, name: str, **wanted: Any) -> dict[str, Any]:
    (row,) = read(tables, name, **wanted)
    return row


def rows(tables: Path, name: str) -> Counter[str]:
    """Rows of a table, each as often as it is there."""
    return Counter(str(sorted(row.items())) for row in read(tables, name))


def all_rows(tables: Path) -> dict[str, Counter[str]]:
    return {table.name: rows(tables, table.name) for table in PROJECTIONS}
