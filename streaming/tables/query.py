"""Selected rows of a Delta table, without a JVM and without reading the whole table.

DataFusion, which comes with deltalake, first decodes the columns of a condition, and then only the rows that meet it.
Arrow's datasets decode every row of a row group with a single match. For a day with a million facts, whose payloads are
a hundred columns, that took seconds and gigabytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from streaming.errors import SourceError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def damage_said(path: str) -> Iterator[None]:
    """Raise SourceError for files that are missing, damaged, unreadable, or not evenkeel's."""
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise SourceError(
            f"{path}: its files cannot be read: {why}. Check first that the storage answers, and that this user may "
            "read it. Only if files are missing or damaged: tables that people read are made again by 'evenkeel "
            "rebuild'; of lost facts only a backup has a copy"
        ) from error


def millis(when: datetime) -> int:
    """The epoch milliseconds of a time in a table."""
    return (when - _EPOCH) // timedelta(milliseconds=1)


def selection_of(tables: str, name: str) -> "Selection | None":
    """The table ``name``; None where there is none. Raises SourceError for one that cannot be read."""
    path = f"{tables}/{name}"
    with damage_said(path):
        try:
            return Selection(path)
        except TableNotFoundError:
            return None


class Selection:
    """A table at the time of construction. Raises deltalake's errors; TableNotFoundError if there is no table.

    Reading raises SourceError if files are damaged.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        table = DeltaTable(path)
        self.columns = frozenset(field.name for field in table.schema().fields)
        # Which table it is, and its version: a table that is made again begins with version 0 again.
        self.version = table.metadata().id, table.version()
        self._builder = QueryBuilder().register("rows", table)

    def rows(self, what: Iterable[str], where: str = "true", then: str = "") -> pa.Table:
        """``what``: columns; an older table lacks some. ``where`` and ``then`` (an order) are SQL."""
        known = [quoted(name) for name in what if name in self.columns]
        return self.ask(f"SELECT {', '.join(known)} FROM rows WHERE {where} {then}")

    def distinct(self, what: Sequence[str]) -> pa.Table:
        """Each combination of these columns once."""
        return self.ask(f"SELECT DISTINCT {', '.join(map(quoted, what))} FROM rows")

    def ask(self, sql: str) -> pa.Table:
        """The answer to SQL, in which the table is called ``rows``."""
        with damage_said(self._path):
            return pa.table(self._builder.execute(sql))


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string in SQL."""
    return "'" + value.replace("'", "''") + "'"


def is_one_of(column: str, values: Sequence[str]) -> str:
    return f"{quoted(column)} IN ({', '.join(map(text, values))})"


def is_of_day_from(since: int) -> str:
    """``date`` is the UTC day of ``since``, epoch milliseconds, or a later one."""
    return f'"date" >= DATE {text((_EPOCH + timedelta(milliseconds=since)).date().isoformat())}'


def is_told_by(until: int | None, by_day: bool) -> str:
    """``ts`` is not after ``until``, epoch milliseconds. Days come first, since whole folders are left out by them."""
    if until is None:
        return "true"
    day = (_EPOCH + timedelta(milliseconds=until)).date()
    days = f'"date" <= DATE {text(day.isoformat())} AND ' if by_day else ""
    return f'{days}"ts" <= to_timestamp_millis({until})'
