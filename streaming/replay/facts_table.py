"""The facts table as facts again, read without a JVM."""

from collections.abc import Iterable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from msgspec import Struct

from schemas.ddl import payload_column
from schemas.facts import PAYLOADS, Fact, Payload

KEY_COLUMNS = ["fact", "seq", "cluster", "group", "topic", "ts"]


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
        rows = rows.set_column(rows.schema.get_field_index("ts"), "ts", _millis(rows["ts"]))
        return sorted(filter(self._is_new, map(self._fact, rows.to_pylist())), key=_order)

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

    def _fact(self, row: dict[str, Any]) -> Fact:
        kind = self._kinds[row["fact"]]
        payload = built(kind, row[payload_column(kind)])
        return Fact(row["seq"], row["cluster"], row["group"], row["topic"], row["ts"], payload)

    def _is_new(self, fact: Fact) -> bool:
        """A file that was compacted holds facts that were read before."""
        key = (fact.payload.fact, fact.cluster, fact.group, fact.seq)
        if key in self._facts_seen:
            return False
        self._facts_seen.add(key)
        return True


def _millis(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Epoch milliseconds; Spark's timestamps come without their zone, which is UTC."""
    return times.cast(pa.timestamp("ms", times.type.tz)).cast(pa.int64())


def _order(fact: Fact) -> tuple[int, str, str, int]:
    return fact.ts, fact.cluster, fact.group, fact.seq


def built(kind: Any, value: Any) -> Any:
    """A value of a column as the type it was made from; a null that stands for a default is that default."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind(**{
            field.name: built(field.type, value[field.name])
            for field in msgspec.structs.fields(kind)
            if value.get(field.name) is not None or field.required
        })  # fmt: skip
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None:
        return None
    if origin in (Union, UnionType):
        (kind,) = (argument for argument in arguments if argument is not NoneType)
        return built(kind, value)
    if origin is tuple:
        return tuple(built(arguments[0], one) for one in value)
    return dict(value) if origin is dict else value
