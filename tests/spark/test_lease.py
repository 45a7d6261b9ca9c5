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
from functools import partial
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace

import pytest

from streaming import lease, lease_file
from streaming.errors import AwayError, InUseError, MonitorError, SetupError
from streaming.lease import local_leases, remote_leases
from streaming.lease_file import NAME, FolderLease, in_use
from streaming.spark import java_lock
from streaming.spark.storage import Folder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
KEY = "tables.path"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEW_EVERY_S", 0.5)
    for name, seconds in (("EXPIRES_S", 3), ("CHECK_AFTER_S", 0.2)):
        monkeypatch.setattr(lease_file, name, seconds)


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


def test_heartbeat_refuses_a_second_while_the_first_lives(spark, tmp_path, quick):
    folders = {KEY: str(tmp_path)}
    with remote_leases(partial(Folder, spark), folders, Event()):
        began = time.monotonic()
        with pytest.raises(InUseError, match=f"in use by process {os.getpid()}"):
            remote_leases(partial(Folder, spark), folders, Event()).__enter__()
        assert time.monotonic() - began < 3
    assert not (tmp_path / NAME).exists()
    with remote_leases(partial(Folder, spark), folders, Event()):  # one that ended well holds nobody up
        pass


@pytest.mark.parametrize("left", ["its own words", "{}"])
def test_lease_that_nobody_renews_expires(left, spark, tmp_path, quick):
    folder = Folder(spark, str(tmp_path))
    with remote_leases(partial(Folder, spark), {KEY: str(tmp_path)}, Event()):
        text = folder.read(NAME)
    folder.write(NAME, left if left == "{}" else text)  # as kill -9 leaves it
    began = time.monotonic()
    with remote_leases(partial(Folder, spark), {KEY: str(tmp_path)}, Event()):
        assert 2 < time.monotonic() - began < 15


def test_empty_file_is_no_lease(monkeypatch):
    """A lock of the kernel is tried first, and leaves one where the file system has no locks."""
    monkeypatch.setattr(lease_file, "CHECK_AFTER_S", 0.01)
    files, began = InMemory({NAME: ""}), time.monotonic()
    assert FolderLease(lambda uri: files, KEY, "hdfs://h/tables").take(Event())
    assert time.monotonic() - began < lease_file.EXPIRES_S / 2


class InMemory(dict[str, str]):
    """A folder whose files are the items."""

    read, write = dict.get, dict.__setitem__

    def delete(self, name: str) -> None:
        del self[name]


def test_one_that_was_paused_ends_when_another_has_taken_over(spark, tmp_path, quick):
    folder, stop = Folder(spark, str(tmp_path)), Event()
    other = '{"id":"other","beat":1,"holder":{"host":"h2","pid":7,"command":"evenkeel run","since_ts":0}}'

    def work():
        with remote_leases(partial(Folder, spark), {KEY: str(tmp_path)}, stop):
            folder.write(NAME, other)
            assert stop.wait(10), "it goes on beside the other"
            raise MonitorError("what came of it")

    with pytest.raises(InUseError) as lost:
        work()
    assert "in use by process 7 on h2 ('evenkeel run', since 1970-01-01 00:00:00 UTC)" in str(lost.value)
    assert folder.read(NAME) == other, "what is another's is left alone"


def test_of_two_that_begin_at_once_the_later_one_goes_on(spark, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(lease_file, "CHECK_AFTER_S", 3)
    stop, first = Event(), FolderLease(partial(Folder, spark), KEY, str(tmp_path))

    def late(self, seconds):  # while the first waits, the second, who saw no lease either, writes its own
        FolderLease(partial(Folder, spark), KEY, str(tmp_path))._write()
        return False

    monkeypatch.setattr(Event, "wait", late)
    with pytest.raises(InUseError):
        first.take(stop)


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
