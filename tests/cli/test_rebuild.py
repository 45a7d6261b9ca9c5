"""``evenkeel rebuild`` as a command: no Java, no Spark."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from streaming.cli import main
from testing.written import commit
from tests.cli.test_cli import imported_by
from tests.projections.story import read, three_days


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for day in three_days():
        commit(tmp_path / "tables" / "facts", day)
    path = tmp_path / "evenkeel.toml"
    path.write_text(f'[tables]\npath = "{tmp_path}/tables"\n')
    return path


@pytest.mark.slow("processes are started")
def test_rebuild_makes_the_tables_and_needs_no_spark(config: Path, tmp_path: Path) -> None:
    assert "pyspark" not in imported_by("rebuild", "--config", str(config))
    assert len(read(tmp_path / "tables", "alerts")) == 6


@pytest.mark.slow("processes are started")
def test_rebuild_says_how_many_rows_each_table_has(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rebuild", "--config", str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "alerts: 6 rows" in lines
    assert f"group_members: {DeltaTable(tmp_path / 'tables' / 'group_members').count()} rows" in lines
