"""Reads the facts that a job commits, without a JVM."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

from schemas.facts import PAYLOADS, Fact, Payload, payload_column
from streaming.tables.fact_rows import KEY_COLUMNS, facts_of


class FactsReader:
    """A reader of new facts. It reads compacted files again, so the table must not be compacted. ``kinds``:
    payloads.
    """

    def __init__(self, path: Path, kinds: Iterable[type[Payload]] = PAYLOADS) -> None:
        self._path = path
        self._kinds = {kind.fact: kind for kind in kinds}
        self._seen: set[str] = set()

    def new(self) -> list[Fact]:
        """The facts committed since the last call, in each group's order; empty while there is no table."""
        files = self._new_files()
        if not files:
            return []
        columns = [*KEY_COLUMNS, *map(payload_column, self._kinds.values())]
        rows = ds.dataset(files, format="parquet").to_table(columns, pc.field("fact").isin(list(self._kinds)))
        return sorted(facts_of(rows), key=lambda fact: (fact.ts, fact.cluster, fact.group, fact.seq))

    def _new_files(self) -> list[str]:
        if not DeltaTable.is_deltatable(str(self._path)):
            return []
        new = set(DeltaTable(str(self._path)).file_uris()) - self._seen
        self._seen |= new
        return sorted(new)
