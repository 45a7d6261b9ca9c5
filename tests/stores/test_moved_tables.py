"""The tables of an older release, copied from a disk into an object store, go on there."""

from pathlib import Path
from typing import Any

import pytest
from deltalake.fs import DeltaStorageHandler

from streaming.cli import main
from streaming.projections.projector import run_projections
from streaming.tables.storage import delta_uri
from tests.releases.kept import CLUSTER, RELEASES
from tests.releases.test_tables import ALL, counted, rows_of

pytestmark = pytest.mark.slow("an object store is started")


def copied(tables: Path, to: str) -> None:
    """Each log last: a table is there once all of its files are."""
    handler: Any = DeltaStorageHandler(delta_uri(to))._handler
    files = [path for path in tables.rglob("*") if path.is_file() and not path.name.endswith(".crc")]
    for path in sorted(files, key=lambda path: "_delta_log" in path.parts):
        stream = handler.open_output_stream(str(path.relative_to(tables)), None)
        stream.write(path.read_bytes())
        stream.close()


@pytest.mark.deep("an object store, which Go builds first")
def test_tables_go_on_in_an_object_store(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = RELEASES[0].unpack_job(tmp_path)
    before = {table: rows_of(str(job / "tables"), table) for table in ALL}
    there = f"{folder}/tables"
    copied(job / "tables", there)

    run_projections(there)
    for table, rows in before.items():
        assert counted(rows_of(there, table), rows.schema) == counted(rows, rows.schema), table.name
    group = before[ALL[0]]["consumer_group"][0].as_py()
    assert main(["explain", group, "--cluster", CLUSTER, "--tables", there]) == 0
    assert group in capsys.readouterr().out
