"""A DuckDB database in memory over the Delta tables: the tables, Spark's names for functions, the views, the silences.

A table that does not exist yet is empty. Each query sees the tables as they are when it begins.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from schemas.table_definition import Column, Table
from schemas.tables import CURRENT, FACTS, HISTORY, NOTIFICATIONS
from streaming.errors import SetupError, SourceError
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.silences import Silence
from streaming.tables.arrow_types import arrow_schema
from streaming.tables.storage import delta_uri, files_in, local_path
from streaming.tables.version import require_known_tables

TABLES: tuple[Table, ...] = (*CURRENT, *HISTORY, NOTIFICATIONS, FACTS)
VIEWS = Path(__file__).with_name("views.sql")
ROWS_AT_ONCE = 2_048  # a large answer is passed on in pieces, and needs little memory
MACROS = """
CREATE MACRO unix_millis(t) AS epoch_ms(t);
CREATE MACRO timestamp_millis(ms) AS to_timestamp(ms / 1000.0);
CREATE MACRO explode(list) AS unnest(list);
"""
_SILENCE_COLUMNS = ("id", "cluster", "consumer_group", "kind", "cause", "from_time", "until_time", "who", "why")
_TIME = pa.timestamp("ms", "UTC")
SILENCES = pa.schema([(name, _TIME if name.endswith("_time") else pa.string()) for name in _SILENCE_COLUMNS])


class Answer:
    """The answer to a query: names of columns, and its rows, which can be read once."""

    def __init__(self, executed: Any, refused: type[Exception]) -> None:
        self._executed, self._refused = executed, refused
        self.columns: list[str] = [column[0] for column in executed.description or ()]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows. Raises SourceError if one cannot be computed."""
        try:
            while rows := self._executed.fetchmany(ROWS_AT_ONCE):
                yield from rows
        except self._refused as error:
            raise SourceError(f"the query failed: {error}") from error


class Database:
    """The database. Raises SetupError if DuckDB is not installed, SourceError without tables of evenkeel, and
    CheckpointError for those of a newer one.
    """

    def __init__(self, tables: str, notifier_state: Path) -> None:
        self._tables, self._silences = tables, SilenceFiles(notifier_state)
        self.is_local = local_path(tables) is not None
        self._duckdb = _duckdb()
        self._db = self._duckdb.connect(config={"autoinstall_known_extensions": False})
        self._db.execute("SET TimeZone = 'UTC'")
        self._db.execute(MACROS)
        if not self._refresh():
            raise SourceError(
                f"{tables}: there are no tables of evenkeel: name their folder with --tables, or the job's "
                "configuration with --config"
            )
        self._db.execute(VIEWS.read_text(encoding="utf-8"))

    def answers(self, text: str) -> Iterator[Answer]:
        """One answer for each statement. Raises SourceError, with DuckDB's reason, for the first refused one."""
        refused = self._duckdb.Error
        try:
            for statement in self._duckdb.extract_statements(text):
                self._refresh()
                yield Answer(self._db.execute(statement), refused)
        except refused as error:
            raise SourceError(f"the query is refused: {error}") from error

    def _refresh(self) -> bool:
        """Register the tables as they are now. Returns whether there is any."""
        require_known_tables(self._tables)
        self._db.register("silences", _rows_of(self._silences.all()))
        registered = [self._register(table) for table in TABLES]
        return any(registered)

    def _register(self, table: Table) -> bool:
        path = f"{delta_uri(self._tables)}/{table.name}"
        try:
            # pyarrow reads ahead also after the last row that DuckDB wants. If it does that in Python while Python
            # ends, the process crashes or never ends. Its own file system, for local files, needs no Python.
            rows = DeltaTable(path).to_pyarrow_dataset(filesystem=files_in(path) if self.is_local else None)
        except TableNotFoundError:
            self._db.register(table.name, arrow_schema(table).empty_table())
            return False
        except (DeltaError, OSError) as error:
            raise SourceError(f"{path}: its files cannot be read: {error}") from error
        missing = [one for one in table.columns if one.name not in rows.schema.names]
        self._db.execute(f"DROP VIEW IF EXISTS {table.name}")
        if missing:
            self._register_with_missing(table, rows, missing)
        else:
            self._db.register(table.name, rows)
        return True

    def _register_with_missing(self, table: Table, rows: Any, missing: list[Column]) -> None:
        """The table of an older evenkeel until a newer one writes to it: null where it has no such column."""
        written, wanted = f"{table.name}_as_written", f"{table.name}_as_wanted"
        self._db.register(written, rows)
        self._db.register(wanted, arrow_schema(table).empty_table())
        values = "".join(f", (SELECT {one.name} FROM {wanted}) AS {one.name}" for one in missing)
        self._db.execute(f"CREATE TEMPORARY VIEW {table.name} AS SELECT *{values} FROM {written}")


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError:
        raise SetupError("'evenkeel sql' needs DuckDB, which is not installed: pip install duckdb") from None


def _rows_of(silences: list[Silence]) -> pa.Table:
    rows = [
        (one.id, one.cluster, one.group, one.kind, one.cause, one.from_ts, one.until_ts, one.by, one.why)
        for one in silences
    ]
    return pa.Table.from_pylist([dict(zip(SILENCES.names, row, strict=True)) for row in rows], SILENCES)
