"""The process of the projections with tables in an object store."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest
from deltalake import write_deltalake

from schemas.facts import Fact
from streaming.projections.progress import read_progress
from streaming.tables.storage import delta_uri
from tests.projections.story import three_days
from tests.projections.test_process import wait_until
from tests.tables.written import rows_of_facts

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

PARENT = """
import sys
from threading import Event
from streaming.projections.process import ProjectionSettings, keep_running
keep_running(ProjectionSettings(tables=sys.argv[1], seconds=3600, log_level="INFO", log_format="text"), Event())
"""


def read_up_to(folder: str) -> int:
    """The first version of the facts that is not in the tables yet."""
    progress = read_progress(folder)
    return 0 if progress is None else progress.done.version


def commit(folder: str, facts: Iterable[Fact]) -> None:
    write_deltalake(delta_uri(f"{folder}/facts"), rows_of_facts(facts), mode="append", partition_by=["date"])


def test_one_whose_job_was_killed_writes_nothing_more(folder: str) -> None:
    """Its lease may be another's before the 8 s are over in which it writes the last facts on a local disk."""
    first, second, _ = three_days()
    commit(folder, first)
    command = [sys.executable, "-c", PARENT, folder]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}) as parent:
        wait_until(lambda: read_up_to(folder) > 0)
        (child,) = psutil.Process(parent.pid).children()
        read = read_up_to(folder)
        commit(folder, second)
        parent.kill()
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, within_s=20)
    assert read_up_to(folder) == read
