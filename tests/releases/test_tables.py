"""The tables of older releases: read as they are, brought up to date without a change of any row, and made again."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from schemas.table_definition import Table
from schemas.tables import NOTIFICATIONS, PROJECTIONS
from streaming.cli import main
from streaming.projections.projector import rebuild, run_projections
from streaming.sql.database import Database
from streaming.tables.storage import delta_uri
from tests.releases.kept import CLUSTER, RELEASES, Release

pytestmark = [
    pytest.mark.slow("tables of a release are brought up to date"),
    pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version),
]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"^```sql [\w-]+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ALL = (*PROJECTIONS, NOTIFICATIONS)


@pytest.fixture
def job(release: Release, tmp_path: Path) -> Path:
    return release.unpack_job(tmp_path)


def as_they_are(tables: Path) -> None:
    assert DeltaTable(tables / "facts").version() > 0


def continued(tables: Path) -> None:
    run_projections(str(tables))


def made_again(tables: Path) -> None:
    rebuild(str(tables), lambda done, of: None)


@pytest.mark.deep("every query of the docs, on tables of a release")
@pytest.mark.parametrize("brought", [as_they_are, continued, made_again])
def test_every_query_of_the_docs_works(
    brought: Callable[[Path], None], job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought(job / "tables")
    database = Database(str(job / "tables"), job / "notifier")
    monkeypatch.setattr(Database, "_refresh", lambda _: True)  # nobody writes meanwhile
    found = [list(answer.rows()) for query in QUERIES for answer in database.answers(query)]
    assert len(found) >= len(QUERIES) > 10
    assert sum(map(bool, found)) > 5, "most find something"


def test_no_row_changes_when_its_table_is_brought_up_to_date(job: Path) -> None:
    tables = job / "tables"
    before = {table.name: rows_of(str(tables), table) for table in ALL}
    run_projections(str(tables))
    for table in ALL:
        now, columns = rows_of(str(tables), table), before[table.name].schema
        assert {column.name for column in table.columns} <= set(now.column_names), table.name
        assert counted(now, columns) == counted(before[table.name], columns), table.name
    assert {name for name, rows in before.items() if not rows.num_rows} <= {"quarantine", "monitor_faults"}


# Copies of the tables, each of which is brought up to date and killed after one write more than the copy before, then
# brought up to date again. The parent itself never opens a table, because a fork has none of its threads.
KILLED_AFTER_EACH_WRITE = """
import os, shutil, signal, sys
from itertools import count
from pathlib import Path
from deltalake import DeltaTable
from deltalake.table import TableAlterer
from streaming.projections import projector, table
from streaming.tables.storage import TextFiles

tables, copies = map(Path, sys.argv[1:])
writers = [(table, "write_deltalake"), (DeltaTable, "create"), (DeltaTable, "delete")]
writers += [(TableAlterer, "add_columns"), (TableAlterer, "set_table_properties")]
writers += [(TextFiles, "write"), (TextFiles, "delete")]

def dying(write, writes, last):
    def work(*given, **named):
        write(*given, **named)
        if next(writes) == last:
            os.kill(os.getpid(), signal.SIGKILL)
    return work

def status_of_child(folder, last=None):
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    writes = count()
    for owner, name in writers:
        setattr(owner, name, dying(getattr(owner, name), writes, last))
    projector.run_projections(str(folder))
    os._exit(0)

for number in count():
    folder = copies / str(number)
    shutil.copytree(tables, folder)
    status = status_of_child(folder, number)
    if status == signal.SIGKILL:
        status = status_of_child(folder)
    else:
        shutil.rmtree(folder)
        sys.exit(status)
    if status:
        sys.exit(f"killed after write {number}, it did not go on")
"""


@pytest.mark.deep("a process is killed after each write")
def test_killed_after_any_write_they_are_brought_up_to_date_all_the_same(job: Path, tmp_path: Path) -> None:
    undisturbed, copies = tmp_path / "undisturbed", tmp_path / "copies"
    shutil.copytree(job / "tables", undisturbed)
    words = [sys.executable, "-c", KILLED_AFTER_EACH_WRITE, str(job / "tables"), str(copies)]
    subprocess.run(words, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd="/")
    run_projections(str(undisturbed))
    expected = {table.name: whole(undisturbed, table) for table in PROJECTIONS}
    killed = list(copies.iterdir())
    print(f"killed after each of {len(killed)} writes")
    assert len(killed) > 2, "columns are added, and the position is written"
    for folder in killed:
        assert {table.name: whole(folder, table) for table in PROJECTIONS} == expected, folder.name


def whole(tables: Path, table: Table) -> Counter[str]:
    """Each row, with its columns in the order of their names."""
    rows = DeltaTable(tables / table.name).to_pyarrow_table().to_pylist()
    return Counter(repr(sorted(row.items())) for row in rows)


def test_each_group_is_explained(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statuses = DeltaTable(job / "tables" / "group_status").to_pyarrow_table().to_pylist()
    for group in {row["consumer_group"] for row in statuses}:
        assert main(["explain", group, "--cluster", CLUSTER, "--tables", str(job / "tables")]) == 0
        assert group in capsys.readouterr().out


def rows_of(tables: str, table: Table) -> pa.Table:
    return DeltaTable(delta_uri(f"{tables}/{table.name}")).to_pyarrow_table()


def counted(rows: pa.Table, columns: pa.Schema) -> Counter[str]:
    """How often each row is there, of which only these columns and their fields count."""
    return Counter(repr([narrowed(row[one.name], one.type) for one in columns]) for row in rows.to_pylist())


def narrowed(value: Any, kind: pa.DataType) -> Any:
    """The value with those fields only that the type has."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [narrowed(one, kind.value_type) for one in value]
    if pa.types.is_struct(kind):
        return [narrowed(value[one.name], one.type) for one in kind]
    return value
