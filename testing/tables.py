"""Delta tables as plain rows, read without a JVM, in an order in which two runs can be compared."""

from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from schemas.facts import Fact
from schemas.tables import PROJECTIONS
from testing.written import fact_of

Row = dict[str, Any]
# These tell of the run itself, by its own clock: two runs can't have the same.
OF_THE_RUN = {"monitor_health"}
# Whose checkpoint told the fact, and in which part of it the group was.
OF_THE_CHECKPOINT = ("identity", "shard")
COMPARED = tuple(table.name for table in PROJECTIONS if table.name not in OF_THE_RUN)


def rows(tables: Path, name: str) -> list[Row]:
    """Every row, as often as it is there."""
    return DeltaTable(str(tables / name)).to_pyarrow_table().to_pylist()


def files(tables: Path, name: str) -> list[Path]:
    """The files that the table is made of now."""
    return [Path(uri) for uri in DeltaTable(str(tables / name)).file_uris()]


def projection(tables: Path, name: str) -> list[Row]:
    return sorted(rows(tables, name), key=_as_text)


def facts(tables: Path) -> list[Row]:
    """Facts of the groups, in each group's order, without what belongs to the checkpoint or to the run."""
    kept = [row for row in rows(tables, "facts") if row["fact"] not in ("health", "quarantine")]
    return sorted(map(_without_checkpoint, kept), key=_fact_key)


def as_facts(tables: Path) -> list[Fact]:
    """The same as the core tells them."""
    return sorted(map(fact_of, facts(tables)), key=fact_order)


def fact_order(fact: Fact) -> tuple[str, str, str, int]:
    return fact.cluster, fact.group, fact.payload.fact, fact.seq


def quarantined(tables: Path) -> list[Row]:
    """Facts of the records that nobody could use, by where they lie in Kafka."""
    kept = [row for row in rows(tables, "facts") if row["fact"] == "quarantine"]
    return sorted(map(_without_checkpoint, kept), key=_quarantine_key)


def health(tables: Path) -> list[Row]:
    """What the job said of itself, oldest first."""
    kept = [row for row in rows(tables, "facts") if row["fact"] == "health"]
    return [row["health"] for row in sorted(kept, key=lambda row: row["seq"])]


def differences(left: list[Row], right: list[Row]) -> list[str]:
    """What only one side has, as text, some of it: a diff of thousands of rows helps nobody."""
    ours, theirs = list(map(_as_text, left)), list(map(_as_text, right))
    if ours == theirs:
        return []
    only = [f"- {text}" for text in _beyond(ours, theirs)] + [f"+ {text}" for text in _beyond(theirs, ours)]
    return [f"{len(ours)} rows against {len(theirs)}", *only[:20]]


def _fact_key(row: Row) -> tuple[str, str, str, int, str]:
    return row["cluster"], row["group"], row["fact"], row["seq"], _as_text(row)


def _quarantine_key(row: Row) -> tuple[str, int, int, str]:
    told = row["quarantine"]
    return told["source_topic"], told["source_partition"], told["source_offset"], _as_text(row)


def _beyond(some: list[str], others: list[str]) -> list[str]:
    left = list(others)
    beyond = []
    for one in some:
        if one in left:
            left.remove(one)
        else:
            beyond.append(one)
    return beyond


def _without_checkpoint(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in OF_THE_CHECKPOINT}


def _as_text(row: Row) -> str:
    return repr(sorted(row.items()))
