"""The facts table as facts again, read without a JVM."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

from schemas.ddl import payload_column
from schemas.facts import PAYLOADS, Fact, Payload
from streaming.tables.fact_rows import KEY_COLUMNS, facts_of


class FactsTable:
    """What is committed to a facts table, each fact once. ``kinds`` are the payloads of interest."""

    def __init__(self, path: Path, kinds: Iterable[type[Payload]] = PAYLOADS) -> None:
        self._path = path
        self._kinds = {kind.fact: kind for kind in kinds}
        self._table: DeltaTable | None = None
        self._files_seen: set[str] = set()
        self._facts_seen: set[tuple[str, str, str, int]] = set()

    def new(self) -> list[Fact]:
        """Facts committed since the last call, in each group's order; none while there is no table."""
        files = self._new_files()
        if not files:
            return []
        columns = [*KEY_COLUMNS, *map(payload_column, self._kinds.values())]
        rows = ds.dataset(files, format="parquet").to_table(columns, pc.field("fact").isin(list(self._kinds)))
        return sorted(filter(self._is_new, facts_of(rows)), key=_order)

    def _new_files(self) -> list[str]:
        if self._table is None:
            if not DeltaTable.is_deltatable(str(self._path)):
                return []
            self._table = DeltaTable(str(self._path))
        else:
            self._table.update_incremental()
        files = set(self._table.file_uris())
        new = files - self._files_seen
        self._files_seen = files
        return sorted(new)

    def _is_new(self, fact: Fact) -> bool:
        """A file that was compacted holds facts that were read before."""
        key = (fact.payload.fact, fact.cluster, fact.group, fact.seq)
        if key in self._facts_seen:
            return False
        self._facts_seen.add(key)
        return True


def _order(fact: Fact) -> tuple[int, str, str, int]:
    return fact.ts, fact.cluster, fact.group, fact.seq
