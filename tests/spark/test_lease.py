"""One process at a time writes to tables and checkpoint: a second is told of the first; a dead one holds nobody up."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace

import pytest

from streaming import lease
from streaming.errors import AwayError, InUseError, MonitorError, SetupError
from streaming.file_lock import CannotLock
from streaming.lease import local_leases, remote_leases
from streaming.lease_file import in_use
from streaming.spark import java_lock

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
KEY = "tables.path"


def test_folder_of_this_machine_is_held_by_one(tmp_path):
    for uri, path in ((str(tmp_path / "a"), tmp_path / "a"), ((tmp_path / "a b").as_uri(), tmp_path / "a b")):
        with local_leases({KEY: uri}) as leased:
            assert leased == ([path], {})
            with pytest.raises(InUseError, match=rf"{KEY} = .* is in use by process {os.getpid()} on") as refused:
                local_leases({KEY: uri}).__enter__()
            assert "stop that one first" in str(refused.value)
        with local_leases({KEY: uri}) as leased:
            assert leased == ([path], {})


@pytest.mark.parametrize(
    ("number", "raised"), [(errno.ENOSPC, AwayError), (errno.ESTALE, AwayError), (errno.EACCES, SetupError)]
)
def test_only_what_stays_wrong_is_refused_for_good(number, raised, tmp_path, monkeypatch):
    def no_lock(path):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(lease, "held", no_lock)
    with pytest.raises(raised, match=f"{KEY} = {tmp_path}: cannot be held for this process alone: "):
        local_leases({KEY: str(tmp_path)}).__enter__()


def test_address_is_left_to_a_heartbeat_and_shows_no_password():
    with local_leases({KEY: "s3a://key:hunter2@bucket/tables"}) as leased:
        assert (leased.locked, list(leased.far)) == ([], [KEY])
    assert "hunter2" not in str(in_use(KEY, "s3a://key:hunter2@bucket/tables", "x"))


def test_folder_without_locks_and_conditions_has_no_lease_and_no_standby(tmp_path, monkeypatch, caplog):
    """As HDFS, and a disk whose server keeps no locks."""

    def no_lock(path):
        raise CannotLock

    monkeypatch.setattr(lease, "held", no_lock)
    for uri in ("hdfs://name:8020/tables", str(tmp_path)):
        caplog.clear()
        with local_leases({KEY: uri}) as leased, remote_leases(leased.far, Event()):
            assert leased == ([], {})
        assert "nothing refuses a second process" in caplog.text
        words = f"{KEY} = {uri}: this storage has neither locks nor .* start one process alone without --standby"
        with pytest.raises(SetupError, match=words):
            local_leases({KEY: uri}, is_standby=True).__enter__()


LOCKED = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def test_the_java_of_a_killed_process_still_has_the_folder_until_it_ends(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(java_lock, "ENDS_WITHIN_S", 0.5)
    path = tmp_path / java_lock.NAME
    with subprocess.Popen(  # Java has locks of this kind
        [sys.executable, "-c", LOCKED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(InUseError, match="the Java of a process that has ended"):
            java_lock.java_lock(spark, tmp_path, Event()).__enter__()
        monkeypatch.setattr(java_lock, "ENDS_WITHIN_S", 60)
        began = time.monotonic()
        Timer(1, other.kill).start()
        with java_lock.java_lock(spark, tmp_path, Event()):
            assert time.monotonic() - began >= 0.8
            with path.open("r+b") as file, pytest.raises(BlockingIOError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with path.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class DeadJava:
    """Java that ends while its lock is held: each further call is refused, as by py4j."""

    java, io = property(lambda self: self), property(lambda self: self)

    def RandomAccessFile(self, path: str, mode: str) -> "DeadJava":
        return self

    def getChannel(self) -> "DeadJava":
        return self

    def tryLock(self) -> object:
        return object()

    def close(self) -> None:
        raise ConnectionRefusedError


def test_java_that_has_ended_does_not_hide_the_reason(tmp_path):
    with (
        pytest.raises(MonitorError, match="the query failed"),
        java_lock.java_lock(SimpleNamespace(_jvm=DeadJava()), tmp_path, Event()),
    ):
        raise MonitorError("the query failed")


def test_folder_in_which_java_has_no_file_to_lock_is_named(tmp_path):
    with pytest.raises(SetupError, match=f"{tmp_path}/none/{java_lock.NAME}: Java cannot lock it .*: No such file"):
        java_lock.java_lock(SimpleNamespace(_jvm=DeadJava()), tmp_path / "none", Event()).__enter__()


@contextmanager
def job(folder: Path) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-m", "streaming", "run", "--config", str(folder / "evenkeel.toml")],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def has_said(process, words):
    return any(words in line for line in iter(process.stderr.readline, ""))


@pytest.mark.deep("three jobs of their own")
@pytest.mark.slow("a job of its own")
def test_second_job_is_refused_at_once_and_a_killed_one_holds_nobody_up(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "evenkeel.toml").write_text(
        f'[source]\nkind = "files"\nfolder = "{tmp_path}/events"\n[tables]\npath = "{tmp_path}/tables"\n'
        f'[job]\ncheckpoint = "{tmp_path}/checkpoint"\nshards = 4\n[notify]\nstate = "{tmp_path}/notify"\n'
        '[spark]\nmaster = "local[1]"\n'
    )
    with job(tmp_path) as first:
        assert has_said(first, "watching")
        for command in (["run"], ["rebuild"], ["reseed", "--checkpoint", str(tmp_path / "new")]):
            began = time.monotonic()
            second = subprocess.run(
                [sys.executable, "-m", "streaming", *command, "--config", str(tmp_path / "evenkeel.toml")],
                env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True,
            )  # fmt: skip
            assert second.returncode == 4, second.stderr
            assert f"in use by process {first.pid} on" in second.stderr
            assert "run --config" in second.stderr
            assert time.monotonic() - began < 15, "Spark was started for it"
        assert first.poll() is None
        first.send_signal(signal.SIGKILL)
        first.wait(30)
        with job(tmp_path) as next_one:
            assert has_said(next_one, "watching")
            next_one.send_signal(signal.SIGTERM)
            assert next_one.wait(60) == 0
