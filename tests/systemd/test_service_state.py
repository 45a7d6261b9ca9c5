"""What the four services send to systemd: a real socket in its place, and the real commands."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from streaming import systemd
from streaming.secret_mask import hide
from streaming.systemd import ServiceState
from testing.fake_rocketmq import served, two_clients
from testing.process_session import kill_all
from testing.written import commit
from tests.notifier.facts import health

ROOT = Path(__file__).parents[2]
QUIET_S = 4.0  # of a service whose parts go on every second
Message = dict[str, str]


class Manager:
    """The socket that systemd would read."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)

    def next(self, within_s: float) -> Message:
        """The next message; empty if none comes."""
        self._socket.settimeout(within_s)
        try:
            lines = self._socket.recv(4096).decode().split("\n")
        except TimeoutError:
            return {}
        return dict(line.split("=", 1) for line in lines)

    def first(self, key: str, value: str, within_s: float) -> Message:
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            message = self.next(max(0.01, deadline - time.monotonic()))
            if message.get(key) == value:
                return message
        return pytest.fail(f"no {key}={value} in {within_s} s")

    def falls_silent(self, within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if not self.next(QUIET_S):
                return True
        return False

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    address = f"@evenkeel-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify")
    opened = Manager(address)
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    yield opened
    opened.close()


@pytest.mark.deep("systemd starts services, and storages hang")
def test_it_is_ready_once_every_part_has_gone_on_and_silent_once_one_does_not(manager: Manager) -> None:
    state = ServiceState(("a", "b"), list)
    state.went_on("a")
    state.went_on("a")
    assert manager.next(0.01) == {}
    state.went_on("b")
    assert manager.next(1) == {"READY": "1", "WATCHDOG": "1", "STATUS": "works"}
    for _ in range(3):
        state.went_on("b")
    assert manager.next(0.01) == {}, "a hangs"
    state.went_on("a")
    assert manager.next(1)["WATCHDOG"] == "1"


@pytest.mark.deep("systemd starts services, and storages hang")
def test_the_status_is_one_line_without_secrets(manager: Manager) -> None:
    hide(["hunter2hunter2"])
    ServiceState((), lambda: ["Kafka\nREADY=0 \x1b[31m refuses hunter2hunter2", "other", "third"]).tell()
    assert manager.next(1)["STATUS"] == "Kafka READY=0 ?[31m refuses *** (and 2 more)"


@pytest.mark.deep("systemd starts services, and storages hang")
def test_a_manager_that_reads_nothing_or_is_gone_does_not_end_the_work(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemd, "SEND_WITHIN_S", 0.001)
    state = ServiceState((), list)
    for _ in range(50):  # the queue is full after some
        state.tell()
    manager.close()
    state.tell()


@pytest.mark.deep("systemd starts services, and storages hang")
def test_nothing_is_sent_without_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*words: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(systemd.socket, "socket", none)
    for address in (None, "", "vsock:2:1234"):
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
        if address is not None:
            monkeypatch.setenv("NOTIFY_SOCKET", address)
        ServiceState((), list).tell()


@contextmanager
def service(folder: Path, manager: Manager, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NOTIFY_SOCKET": manager.address}
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streaming", *words], env=environment, cwd=folder, stderr=log, start_new_session=True
        )
        try:
            yield process
        finally:
            kill_all(process)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Manager]:
    opened = Manager(str(tmp_path / "notify"))
    yield opened
    opened.close()


def configured(folder: Path, more: str = "") -> str:
    path = folder / "x.toml"
    path.write_text(
        f'[tables]\npath = "{folder}/tables"\n[notify]\nstate = "{folder}/state"\n[job]\n'
        f'checkpoint = "{folder}/checkpoint"\n{more}'
    )
    return str(path)


def hang_reads_of(facts: Path) -> None:
    """Make the next commit of a table a pipe that nobody writes to: its reader waits for ever, as for a dead server."""
    while True:
        version = max(int(path.stem) for path in (facts / "_delta_log").glob("*.json")) + 1
        try:
            os.mkfifo(facts / "_delta_log" / f"{version:020}.json")
            return
        except FileExistsError:
            continue


def ends_in_order(process: "subprocess.Popen[bytes]", manager: Manager) -> None:
    process.send_signal(signal.SIGTERM)
    assert manager.first("STOPPING", "1", 10)["STATUS"] == "stopping"
    assert process.wait(30) == 0


@pytest.mark.deep("systemd starts services, and storages hang")
@pytest.mark.slow("a Spark of its own")
@pytest.mark.parametrize("command", ["notify", "web"])
def test_a_reader_of_tables_falls_silent_when_its_storage_hangs(
    command: str, tmp_path: Path, listening: Manager
) -> None:
    commit(tmp_path / "tables" / "facts", [health()])
    words = [command, "--config", configured(tmp_path, '[web]\nlisten = "127.0.0.1:0"\n')]
    with service(tmp_path, listening, *words):
        assert listening.first("READY", "1", 30)["WATCHDOG"] == "1"
        listening.first("WATCHDOG", "1", 30)
        hang_reads_of(tmp_path / "tables" / "facts")
        assert listening.falls_silent(60)


@pytest.mark.deep("systemd starts services, and storages hang")
@pytest.mark.slow("a Spark of its own")
def test_a_second_notifier_is_ready_while_it_waits_and_takes_over(tmp_path: Path, listening: Manager) -> None:
    commit(tmp_path / "tables" / "facts", [health()])
    words = ["notify", "--standby", "--config", configured(tmp_path)]
    with service(tmp_path, listening, *words) as first:
        listening.first("READY", "1", 30)
        other = Manager(str(tmp_path / "other"))
        with service(tmp_path, other, *words) as second:
            waits = other.first("READY", "1", 30)
            assert waits["STATUS"].startswith(f"standby: the notifier waits until process {first.pid} on ")
            other.first("WATCHDOG", "1", 30)
            ends_in_order(first, listening)
            while "standby" in other.first("WATCHDOG", "1", 60)["STATUS"]:
                pass
            ends_in_order(second, other)
        other.close()


@pytest.mark.deep("systemd starts services, and storages hang")
@pytest.mark.slow("a Spark of its own")
def test_a_collector_falls_silent_when_its_output_hangs(tmp_path: Path, listening: Manager) -> None:
    pipe = tmp_path / "events.jsonl"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl(reader, F_SETPIPE_SZ, 4096)
    hangs = Event()

    def read() -> None:
        while not hangs.wait(0.01):
            with suppress(BlockingIOError):
                os.read(reader, 65_536)

    reading = Thread(target=read)
    reading.start()
    cluster = two_clients()
    with served(cluster):
        more = (
            f'[collector]\noutput = "file"\nfile = "{pipe}"\nstate = "{tmp_path}/collector"\ninterval_seconds = 1\n'
            f'timeout_seconds = 1\nclusters = {{ prod = "{cluster.namesrv[0]}" }}\n'
        )
        with service(tmp_path, listening, "collect", "--config", configured(tmp_path, more)) as process:
            try:
                listening.first("READY", "1", 30)
                assert listening.first("STATUS", "works", 10)["WATCHDOG"] == "1"
            finally:
                hangs.set()
                reading.join()
            assert listening.falls_silent(60)
            assert process.poll() is None
    os.close(reader)


@pytest.mark.deep("systemd starts services, and storages hang")
@pytest.mark.slow("a Spark of its own")
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_job_falls_silent_when_its_java_hangs(tmp_path: Path, listening: Manager) -> None:
    (tmp_path / "events").mkdir()
    more = f'shards = 4\nhealth_seconds = 1\n[source]\nkind = "files"\nfolder = "{tmp_path}/events"\n'
    with service(tmp_path, listening, "run", "--config", configured(tmp_path, more)) as process:
        ready = listening.first("READY", "1", 400)
        assert ready["WATCHDOG"] == "1"
        for _ in range(3):
            listening.first("WATCHDOG", "1", 60)  # while no events come
        (java,) = [one for one in psutil.Process(process.pid).children(recursive=True) if one.name() == "java"]
        java.suspend()
        try:
            assert listening.falls_silent(120)
        finally:
            java.resume()
