"""The process of the projections with tables in an object store."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest
from deltalake import write_deltalake

from schemas.facts import Fact
from streaming.projections.progress import read_progress
from streaming.tables.storage import delta_uri
from testing.stores.servers import LoopbackStore
from testing.waiting import until
from testing.written import rows_of_facts
from tests.projections.story import three_days

pytestmark = pytest.mark.slow("an object store is started")
ROOT = Path(__file__).parents[2]

PARENT = """
import sys
from threading import Event
from streaming.projections.process import ProjectionSettings, keep_running
tables, seconds = sys.argv[1], float(sys.argv[2])
keep_running(ProjectionSettings(tables=tables, seconds=seconds, log_format="text"), Event())
"""


def read_up_to(folder: str) -> int:
    """The first version of the facts that is not in the tables yet."""
    progress = read_progress(folder)
    return 0 if progress is None else progress.done.version


def commit(folder: str, facts: Iterable[Fact]) -> None:
    write_deltalake(delta_uri(f"{folder}/facts"), rows_of_facts(facts), mode="append", partition_by=["date"])


@pytest.mark.deep("an object store, which Go builds first")
@pytest.mark.parametrize("is_away", [False, True])
def test_one_whose_job_was_killed_writes_nothing_more(is_away: bool, server: LoopbackStore, folder: str) -> None:
    """Its lease may be another's before the 8 s are over in which it writes the last facts on a local disk. While the
    store does not answer, none of its threads may run.
    """
    first, second, _ = three_days()
    commit(folder, first)
    command = [sys.executable, "-c", PARENT, folder, "0.2" if is_away else "3600"]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}) as parent:
        until(lambda: read_up_to(folder) > 0)
        (child,) = psutil.Process(parent.pid).children()
        read = read_up_to(folder)
        if is_away:
            server.pause()
            time.sleep(1)  # it looks for facts now
        else:
            commit(folder, second)
        parent.kill()
        try:
            until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, within_s=6)
        finally:
            server.go_on()
    assert read_up_to(folder) == read
