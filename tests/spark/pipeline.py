"""A whole detection job in a folder of its own, and what the core alone makes of the same events."""

import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from schemas.events import AnyEvent, encode_event
from schemas.facts import Fact, HealthFact
from streaming.config.sections import Source
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.settings import Settings
from streaming.core.shard import Record, fold
from streaming.spark.job import Plan, run_to_end
from testing.written import fact_of
from tests.core.fleet import Fleet


class Pipeline:
    """``folder`` holds the events, the checkpoint and the tables; ``drop`` is a file that arrives."""

    def __init__(self, spark: SparkSession, folder: Path, source: Source | None = None) -> None:
        self.spark = spark
        self.folder = folder
        self.source = source or Source(kind="files", folder=str(folder / "events"))
        (folder / "events").mkdir(exist_ok=True)
        self._dropped = 0

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def plan(self, settings: Settings | None = None, **fields: Any) -> Plan:
        given = {"checkpoint": str(self.checkpoint), "tables": str(self.folder / "tables"), "shards": 4, **fields}
        given = {"trigger_seconds": 1, "health_seconds": 15, **given}
        return Plan(source=self.source, settings=settings or DEFAULT_SETTINGS, **given)

    def drop(self, lines: Sequence[bytes]) -> None:
        """A new file with these lines, in any order but theirs."""
        path = self.folder / "events" / f"{self._dropped:03}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in random.Random(self._dropped).sample(lines, len(lines))))
        os.utime(path, (1_700_000_000 + self._dropped,) * 2)
        self._dropped += 1

    def run(self, settings: Settings | None = None, **fields: Any) -> None:
        run_to_end(self.spark, self.plan(settings, **fields))

    def facts(self) -> list[Fact]:
        """All that the table holds, with what stands in it twice; in each group's order."""
        return sorted((fact_of(row) for row in self.rows()), key=_order)

    def health(self) -> list[HealthFact]:
        return [fact.payload for fact in self.facts() if isinstance(fact.payload, HealthFact)]

    def rows(self) -> list[dict[str, Any]]:
        return DeltaTable(str(self.folder / "tables" / "facts")).to_pyarrow_table().to_pylist()

    def commits(self) -> int:
        return DeltaTable(str(self.folder / "tables" / "facts")).version()


def lines_of(events: Iterable[AnyEvent]) -> list[bytes]:
    return [encode_event(event) for event in events]


def folded(*parts: tuple[Sequence[AnyEvent], Settings]) -> list[Fact]:
    """The facts of events, each part under its own settings."""
    blob, facts = None, []
    for events, settings in parts:
        records = [Record(None, line, len(line), None, None, "f", None, n) for n, line in enumerate(lines_of(events))]
        done = fold(blob, records, settings)
        blob = done.blob
        facts += done.facts
    return sorted(facts, key=_order)


def fleet(group: str = "g") -> Fleet:
    """Two clients that share eight queues, until one of them takes more than its share."""
    made = Fleet(group=group)
    made.join("x", "y")
    made.run(60)
    made.own("y", "a0 b0-3")
    return made.run(60)


def _order(fact: Fact) -> tuple[str, str, str, int]:
    return fact.cluster, fact.group, fact.payload.fact, fact.seq
