"""The log of the facts table: the files of each commit, and the rows of a file. Without a JVM."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyarrow.fs import FileSystem, FileType

from schemas.facts import PAYLOADS, Fact, Payload, payload_column
from streaming.tables.fact_rows import KEY_COLUMNS, facts_of
from streaming.tables.storage import delta_uri, files_in


class FactsLog:
    """The log of a facts table. Raises the errors of deltalake and pyarrow."""

    def __init__(self, path: str) -> None:
        self.path = delta_uri(path)
        self._opened: FileSystem | None = None

    @property
    def files(self) -> FileSystem:
        """The file system of the table's folder. An object store is asked once."""
        if self._opened is None:
            self._opened = files_in(self.path)
        return self._opened

    def exists(self) -> bool:
        return DeltaTable.is_deltatable(self.path)

    def table(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(self.path, version=version)

    def has(self, version: int) -> bool:
        """Whether the log has this commit. It may come later, or may be deleted."""
        return bool(self.files.get_file_info(_entry(version)).type == FileType.File)

    def commit_time(self, version: int) -> datetime | None:
        """When this version was committed; None if the log does not have it yet, or no longer."""
        found = self.files.get_file_info(_entry(version))
        modified: datetime | None = found.mtime if found.type == FileType.File else None
        return None if modified is None else modified.astimezone(UTC)

    def new_files(self, version: int) -> list[str] | None:
        """The files of new facts of this commit; None if the log does not have the commit.

        A commit that also removes facts has no new ones: it rewrites files from which rows were deleted. The files of
        a compaction are marked as no change.
        """
        actions = self._commit(version)
        if actions is None or any(_is_change(action.get("remove")) for action in actions):
            return None if actions is None else []
        return [unquote(action["add"]["path"]) for action in actions if _is_change(action.get("add"))]

    def facts(
        self, file: str, kinds: Sequence[type[Payload]], cluster: str | None = None, group: str | None = None
    ) -> Iterator[Fact]:
        """The facts of these kinds in a file; of one group where it is named. A file lacks columns that are null."""
        wanted = pc.field("fact").isin([kind.fact for kind in kinds])
        if cluster is not None and group is not None:
            wanted &= (pc.field("cluster") == cluster) & (pc.field("group") == group)
        rows = pq.ParquetDataset(file, filters=wanted, filesystem=self.files, partitioning=None)
        payloads = [name for name in map(payload_column, kinds) if name in rows.schema.names]
        return facts_of(rows.read(columns=[*KEY_COLUMNS, *payloads]))

    def commits(
        self, version: int, kinds: Sequence[type[Payload]], cluster: str | None = None, group: str | None = None
    ) -> Iterator[list[Fact]]:
        """The facts of each commit from this version on, up to the first that the log does not have."""
        while (files := self.new_files(version)) is not None:
            yield [fact for file in files for fact in self.facts(file, kinds, cluster, group)]
            version += 1

    def batches(self, file: str, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """At most ``rows`` rows each; columns that an older file lacks are left out."""
        with self.files.open_input_file(file) as source:
            parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            known = set(parquet.schema_arrow.names)
            yield from parquet.iter_batches(rows, columns=[name for name in columns if name in known])

    def _commit(self, version: int) -> list[dict[str, Any]] | None:
        try:
            with self.files.open_input_stream(_entry(version)) as stream:
                return [json.loads(line) for line in stream.read().splitlines() if line.strip()]
        except FileNotFoundError:
            return None


class FactsReader:
    """A reader of the facts that a job commits, from the first commit on. ``kinds``: payloads."""

    def __init__(self, path: Path, kinds: Sequence[type[Payload]] = PAYLOADS) -> None:
        self._log = FactsLog(str(path))
        self._kinds = kinds
        self._next = 0

    def new(self) -> list[Fact]:
        """The facts committed since the last call, in each group's order; empty while there is no table."""
        facts: list[Fact] = []
        for commit in self._log.commits(self._next, self._kinds):
            facts += commit
            self._next += 1
        return sorted(facts, key=lambda fact: (fact.ts, fact.cluster, fact.group, fact.seq))


def _entry(version: int) -> str:
    return f"_delta_log/{version:020}.json"


def _is_change(file: dict[str, Any] | None) -> bool:
    return file is not None and bool(file.get("dataChange", True))
