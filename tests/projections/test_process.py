"""The process that writes the projections: started, watched, killed, stopped, and never left alone."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from schemas.tables import CURRENT, HISTORY
from streaming.projections import process as projections_process
from streaming.projections.new_facts import ROWS_A_BATCH
from streaming.projections.process import NICENESS, ProjectionSettings, keep_projecting, keep_running
from streaming.projections.progress import read_progress
from testing.waiting import until
from testing.written import commit
from tests.projections.story import all_rows, read, three_days

pytestmark = pytest.mark.slow("many commits are written")

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60
LOWEST = 19  # of priorities


def is_read(tables: Path, version: int) -> bool:
    progress = read_progress(str(tables))
    return progress is not None and progress.done.version > version


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "streaming.projections" in " ".join(child.cmdline())]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """The folder of tables that a supervised process keeps up to date."""
    stop = Event()
    settings = ProjectionSettings(tables=str(tmp_path), seconds=0.1, log_format="text")
    keeper = Thread(target=keep_running, args=(settings, stop), kwargs={"retry_after_s": 0.1})
    keeper.start()
    yield tmp_path
    stop.set()
    keeper.join(PATIENCE_S)
    assert not keeper.is_alive()
    assert not children(), "it goes on though it was stopped"


def test_it_waits_for_facts_follows_them_at_low_priority_and_comes_back_after_a_kill(running: Path) -> None:
    until(children)
    first, *others = three_days()
    commit(running / "facts", first)
    until(lambda: is_read(running, 0))
    (process,) = children()
    assert process.nice() == min(psutil.Process().nice() + NICENESS, LOWEST)
    process.send_signal(signal.SIGKILL)
    for day in others:
        commit(running / "facts", day)
    until(lambda: is_read(running, 2))
    assert len(read(running, "alerts")) == 6
    assert [child.pid for child in children()] != [process.pid]


def test_signals_that_its_parent_gets_too_do_not_end_it(running: Path) -> None:
    commit(running / "facts", three_days()[0])
    until(lambda: is_read(running, 0))
    (process,) = children()
    for number in (signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
    commit(running / "facts", three_days()[1])
    until(lambda: is_read(running, 1))
    assert children() == [process]


def test_one_that_cannot_work_says_why_and_is_tried_again(
    running: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    commit(running / "facts", three_days()[0])
    until(lambda: is_read(running, 0))
    (process,) = children()
    shutil.rmtree(running / "facts")
    commit(running / "facts", three_days()[1])
    process.send_signal(signal.SIGKILL)  # the next one sees other facts
    until(lambda: caplog.text.count("the projections ended with status 1; begun again in 0.1 s") >= 2)
    assert "the projections were killed by signal 9; begun again" in caplog.text
    assert "are not those that the tables beside them were made from" in capfd.readouterr().err


def test_one_that_cannot_be_started_ends_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(projections_process, "COMMAND", ("/no/such/python",))
    stop = Event()
    settings = ProjectionSettings(tables="/nowhere", seconds=1, log_format="text")
    keeper = Thread(target=keep_running, args=(settings, stop), kwargs={"retry_after_s": 0.01})
    keeper.start()
    until(lambda: caplog.text.count("the projections cannot be started") >= 2)
    stop.set()
    keeper.join(PATIENCE_S)


REPORTS = """
import logging
from streaming.projections import process
def report(settings, stop):
    while not stop.wait(0.05):
        print("level", logging.getLogger().level, flush=True)
process.keep_projecting = report
process.main()
"""


def test_its_log_has_the_level_of_its_parent_also_after_a_reload_and_a_kill(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(projections_process, "COMMAND", (sys.executable, "-c", REPORTS))
    stop = Event()
    settings = ProjectionSettings(tables="/nowhere", seconds=1, log_format="text")
    keeper = Thread(target=keep_running, args=(settings, stop), kwargs={"retry_after_s": 0.01})
    caplog.set_level("ERROR")
    keeper.start()
    reported = {"level 40"}
    try:
        until(lambda: set(capfd.readouterr().out.splitlines()) & reported)
        caplog.set_level("DEBUG")
        reported = {"level 10"}
        until(lambda: set(capfd.readouterr().out.splitlines()) & reported)
        (process,) = (one for one in psutil.Process().children() if REPORTS in one.cmdline())
        process.kill()
        process.wait()
        capfd.readouterr()
        until(lambda: set(capfd.readouterr().out.splitlines()) & reported)
    finally:
        stop.set()
        keeper.join(PATIENCE_S)


class FirstWait(Event):
    """It is set by the first wait, and keeps how long that was to be."""

    seconds = 0.0

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds = timeout or 0.0
        self.set()
        return True


@pytest.mark.parametrize("full", [0, 2])
def test_facts_that_come_all_the_time_wait_for_the_next_batch_unless_it_was_full(
    full: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, waited_before = FirstWait(), []

    class Busy:
        """A projector that finds new facts each time, until it is to stop."""

        def next_batch(self) -> int | None:
            waited_before.append(stop.is_set())
            return None if stop.is_set() else ROWS_A_BATCH if len(waited_before) <= full else 3

    commit(tmp_path / "facts", three_days()[0])
    monkeypatch.setattr(projections_process, "open_projector", lambda tables: Busy())
    keep_projecting(ProjectionSettings(tables=str(tmp_path), seconds=60, log_format="text"), stop)
    assert waited_before == [False] * (full + 1) + [True]
    assert 50 < stop.seconds <= 60


PATIENT = "from streaming.projections import process; process.LAST_FACTS_WITHIN_S = 60; process.main()"


def test_its_last_facts_are_in_the_tables_when_it_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projections_process, "COMMAND", (sys.executable, "-c", PATIENT))
    monkeypatch.setattr(projections_process, "END_WITHIN_S", 2 * PATIENCE_S)
    stop = Event()
    settings = ProjectionSettings(tables=str(tmp_path), seconds=3600, log_format="text")
    keeper = Thread(target=keep_running, args=(settings, stop))
    commit(tmp_path / "facts", three_days()[0])
    keeper.start()
    until(lambda: is_read(tmp_path, 0))  # from here on it would look again in an hour
    commit(tmp_path / "facts", three_days()[1])
    stop.set()
    keeper.join(2 * PATIENCE_S)
    assert is_read(tmp_path, 1)


def test_it_is_killed_when_another_job_may_write_the_tables_soon(tmp_path: Path) -> None:
    lost = Event()
    settings = ProjectionSettings(tables=str(tmp_path), seconds=3600, log_format="text")
    keeper = Thread(target=keep_running, args=(settings, Event(), lost.is_set))
    commit(tmp_path / "facts", three_days()[0])
    keeper.start()
    until(lambda: is_read(tmp_path, 0))
    commit(tmp_path / "facts", three_days()[1])
    lost.set()
    keeper.join(PATIENCE_S)
    assert not keeper.is_alive()
    assert not children()
    assert not is_read(tmp_path, 1), "it wrote its last facts first"


PARENT = """
import sys
from threading import Event
from streaming.projections.process import ProjectionSettings
from streaming.projections.process import keep_running
keep_running(ProjectionSettings(tables=sys.argv[1], seconds=0.1, log_format="text"), Event())
"""


def test_it_ends_with_its_parent_however_that_ends(tmp_path: Path) -> None:
    commit(tmp_path / "facts", three_days()[0])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], env=environment, cwd="/")
    until(lambda: is_read(tmp_path, 0))
    (child,) = psutil.Process(parent.pid).children()
    parent.kill()
    parent.wait()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


# Each life is a fork of one process that has everything imported. That never opens a table, because a fork has none of
# its threads. pandas and pyarrow.dataset would be imported by each life else. Both folders have the same facts.
KILLED = """
import os, signal, sys
import pandas, pyarrow.dataset
from itertools import count
from pathlib import Path
from streaming.projections import projector
from streaming.projections.projector import run_projections
from streaming.projections.table import ProjectionTable
from tests.projections.story import START, three_days
from tests.tables.telling import DAY, Teller
from testing.written import commit

undisturbed, killed, lives = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
teller, days = Teller(group="audit"), three_days()
more = [[*days[life % 3], teller.member(START + life * DAY, f"c{life}")] for life in range(lives)]

def dying(write, writes, last):
    def work(*given):
        write(*given)
        if next(writes) == last:
            os.kill(os.getpid(), signal.SIGKILL)
    return work

def status_of(work):
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    work()
    os._exit(0)

def live_and_die(life):
    commit(undisturbed / "facts", more[life])
    writes = count()
    for owner, name in ((ProjectionTable, "append"), (ProjectionTable, "merge"), (projector, "write_progress")):
        setattr(owner, name, dying(getattr(owner, name), writes, life))
    run_projections(str(killed))

killed.mkdir()
(killed / "facts").symlink_to(undisturbed / "facts")
assert [status_of(lambda: live_and_die(life)) for life in range(lives)] == [signal.SIGKILL] * lives
assert [status_of(lambda: run_projections(str(tables))) for tables in (undisturbed, killed)] == [0, 0]
"""


def test_killed_after_every_commit_it_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """One life a commit: the position, eight appends, two overwrites, the position again."""
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    lives = 1 + len(HISTORY) + len(CURRENT) + 1
    command = [sys.executable, "-c", KILLED, str(undisturbed), str(killed), str(lives)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert all_rows(killed) == all_rows(undisturbed)
    assert len(read(killed, "alerts")) == 2 * 12
