"""`evenkeel sql` over tables in an object store ends when its work does, whatever the end is."""

import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from deltalake import write_deltalake

from streaming.tables.storage import delta_uri
from testing.written import rows_of_facts
from tests.projections.story import three_days

pytestmark = pytest.mark.slow("an object store is started")
ROOT = Path(__file__).parents[2]
COMMITS = 30  # so many files that pyarrow still reads ahead when the query has failed
ENDS_WITHIN_S = 60


@pytest.fixture
def sql(folder: str) -> list[str]:
    days = three_days()
    for number in range(COMMITS):
        rows = rows_of_facts(days[number % len(days)])
        write_deltalake(delta_uri(f"{folder}/facts"), rows, mode="append", partition_by=["date"])
    return [sys.executable, "-m", "streaming", "sql", "--tables", folder, "-c"]


@pytest.mark.deep("an object store, which Go builds first")
def test_query_that_fails_while_files_are_read_ends_with_its_reason(sql: list[str]) -> None:
    """Without its own end it crashed four times out of six, and did not end the other two times."""
    for _ in range(3):
        ended = subprocess.run(
            [*sql, "SELECT CAST(cluster AS INT) FROM facts"], env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=False,
        )  # fmt: skip
        assert ended.returncode == 2, ended.stderr
        assert ended.stderr.startswith("evenkeel: the query ")


@pytest.mark.deep("an object store, which Go builds first")
def test_answer_that_nobody_reads_ends(sql: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*sql, "SELECT * FROM facts", "--csv"], stdout=PIPE, stderr=PIPE, env=environment) as one:
        assert one.stdout is not None
        assert one.stderr is not None
        one.stdout.close()
        try:
            assert one.wait(ENDS_WITHIN_S) == 141, one.stderr.read()
        finally:
            one.kill()
