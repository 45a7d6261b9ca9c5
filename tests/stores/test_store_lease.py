"""The lease in an object store: one process has it, knows in time when it is lost, and commits nothing afterwards."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from threading import Event
from uuid import uuid4

import msgspec
import pytest

from streaming import lease, lease_file
from streaming.errors import AwayError, InUseError, SetupError
from streaming.lease import remote_leases
from streaming.lease_file import NAME, Lease, StoreLease
from streaming.standby import Standby, taken
from streaming.tables.conditional_file import UNSAFE, ConditionalFile
from testing.stores.servers import LoopbackStore

pytestmark = pytest.mark.slow("an object store is started")
KEY = "tables.path"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, seconds in (
        (lease, "RENEW_EVERY_S", 0.5), (lease, "RETRY_S", 0.3), (lease_file, "RETRY_S", 0.3),
        (lease_file, "HELD_S", 2), (lease_file, "EXPIRES_S", 4),
        (lease, "END_S", 600),  # a machine that is busy for a while must not end pytest itself
    ):  # fmt: skip
        monkeypatch.setattr(module, name, seconds)


class Clock(Event):
    """The clock of leases. To wait for this event only moves it on, and does what is done ``meanwhile``."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 1_000.0
        self.meanwhile: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        return self.at

    def wait(self, timeout: float | None = None) -> bool:
        self.at += timeout or 0
        self.meanwhile()
        return self.is_set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (lease, lease_file):
        monkeypatch.setattr(module, "time", clock)
    return clock


def kept(folder: str) -> Lease:
    found = ConditionalFile(folder, NAME).read()
    assert found is not None
    return msgspec.json.decode(found.text, type=Lease)


@pytest.mark.deep("an object store, which Go builds first")
def test_second_is_refused_and_the_owner_named(folder: str) -> None:
    words = f"{KEY} = {folder} is in use by process {os.getpid()} on"
    with remote_leases({KEY: folder}, Event()), pytest.raises(InUseError, match=words):
        remote_leases({KEY: folder}, Event()).__enter__()


@pytest.mark.deep("an object store, which Go builds first")
def test_lease_that_was_released_is_taken_at_once_with_a_larger_number(folder: str, clock: Clock) -> None:
    numbers, began = [], clock.at
    for _ in range(3):
        with remote_leases({KEY: folder}, clock) as require_held:
            require_held()
            numbers.append(kept(folder).fence)
    assert (numbers, clock.at) == ([1, 2, 3], began)


@pytest.mark.deep("an object store, which Go builds first")
def test_lease_that_was_released_is_not_held_any_more(folder: str) -> None:
    one = StoreLease(KEY, folder)
    assert one.take(Event())
    one.require_held()
    one.release()
    with pytest.raises(AwayError):
        one.require_held()


@pytest.mark.deep("an object store, which Go builds first")
def test_bucket_that_does_not_exist_ends_the_start(folder: str) -> None:
    with pytest.raises(AwayError, match="Does the bucket exist"):
        StoreLease(KEY, f"s3a://{uuid4()}/tables").take(Event())


@pytest.mark.deep("an object store, which Go builds first")
def test_commits_without_conditions_are_refused(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNSAFE, "true")
    with pytest.raises(SetupError, match=f"{UNSAFE} is set: .* Remove it from the environment"):
        StoreLease(KEY, folder).take(Event())


@pytest.mark.deep("an object store, which Go builds first")
def test_lease_that_nobody_renews_expires(folder: str, clock: Clock) -> None:
    assert StoreLease(KEY, folder).take(clock)  # as kill -9 leaves it
    began = clock.at
    with remote_leases({KEY: folder}, clock):
        assert clock.at - began == lease_file.EXPIRES_S
        assert kept(folder).fence == 2


@pytest.mark.deep("an object store, which Go builds first")
def test_lease_that_nobody_renews_expires_in_real_time(folder: str) -> None:
    assert StoreLease(KEY, folder).take(Event())
    began = time.monotonic()
    with remote_leases({KEY: folder}, Event()):
        assert time.monotonic() - began >= lease_file.EXPIRES_S


@pytest.mark.deep("an object store, which Go builds first")
def test_leases_of_one_owner_expire_together(folder: str, clock: Clock) -> None:
    folders = {KEY: folder, "job.checkpoint": f"{folder}/checkpoint"}
    for key, uri in folders.items():
        assert StoreLease(key, uri).take(clock)  # as kill -9 leaves it
    began = clock.at
    with remote_leases(folders, clock):
        assert clock.at - began == lease_file.EXPIRES_S


@pytest.mark.deep("an object store, which Go builds first")
def test_a_standby_waits_while_the_lease_is_renewed_and_takes_over_when_it_expires(folder: str, clock: Clock) -> None:
    standby, first, reasons = Standby("the job"), StoreLease(KEY, folder), set[str]()
    assert first.take(clock)
    ends_at = clock.at + 3 * lease_file.EXPIRES_S

    def renew() -> None:
        if clock.at < ends_at:  # then it is gone, as after kill -9
            first.renew()
            reasons.update(standby.troubles())

    clock.meanwhile = renew
    with ExitStack() as stack:
        held = taken(stack, lambda: remote_leases({KEY: folder}, clock), clock, standby)
        assert held is not None
        held()
        assert clock.at >= first.until - lease_file.HELD_S + lease_file.EXPIRES_S
        assert kept(folder).fence == 2
    (reason,) = reasons
    assert f"process {os.getpid()} on" in reason


@pytest.mark.deep("an object store, which Go builds first")
def test_of_many_that_begin_at_once_one_has_it(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_file, "EXPIRES_S", 30)  # a machine that is busy for a while is no owner that has ended
    many, refused, end = 12, [], time.monotonic() + 60

    def take(number: int) -> bool:
        one = StoreLease(KEY, folder)
        try:
            assert one.take(Event())
        except (InUseError, AwayError):
            refused.append(number)
            return False
        while len(refused) < many - 1 and time.monotonic() < end:  # the others still watch it
            one.renew()
            time.sleep(0.3)
        return True

    with ThreadPoolExecutor(many) as pool:
        assert sum(pool.map(take, range(many))) == 1


def taken_over(folder: str) -> None:
    """By another process that has watched it for long enough."""
    file = ConditionalFile(folder, NAME)
    while True:
        found = file.read()
        assert found is not None
        other = msgspec.structs.replace(msgspec.json.decode(found.text, type=Lease), id="other", fence=7)
        try:
            file.write(msgspec.json.encode(other).decode(), found.version)
        except lease_file.Refused:  # it was renewed in between
            continue
        return


@pytest.mark.deep("an object store, which Go builds first")
@pytest.mark.parametrize("late", ["renewal", "commit"])
def test_one_that_wakes_after_another_took_over_neither_renews_nor_commits(late: str, folder: str) -> None:
    one = StoreLease(KEY, folder)
    assert one.take(Event())
    taken_over(folder)
    act: Callable[[], None] = one.renew if late == "renewal" else one.require_held
    with pytest.raises(InUseError, match=f"{KEY} = {folder} is in use by process"):
        act()
    one.release()
    assert kept(folder).id == "other"


@pytest.mark.deep("an object store, which Go builds first")
def test_lease_that_is_lost_stops_the_job(folder: str) -> None:
    stop, lost = Event(), Event()

    def work() -> None:
        with remote_leases({KEY: folder}, stop, lost.set):
            taken_over(folder)
            assert stop.wait(60), "it goes on beside the other"
            assert lost.is_set()

    with pytest.raises(InUseError):
        work()


STUCK = """
import sys, time
from threading import Event
from streaming import lease
lease.RENEW_EVERY_S, lease.END_S = 0.5, 1.0
with lease.remote_leases({"tables.path": sys.argv[1]}, Event()):
    print("taken", flush=True)
    time.sleep(60)
"""


@pytest.mark.deep("an object store, which Go builds first")
def test_process_that_goes_on_without_its_lease_is_ended(folder: str) -> None:
    """Its work may hang in a write, which would arrive when another one has the lease."""
    command = [sys.executable, "-c", STUCK, folder]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == "taken\n"
            taken_over(folder)
            assert one.wait(60) == 4
        finally:
            one.kill()


FROZEN = """
import sys, time
from threading import Event
from streaming import lease, lease_file
from streaming.tables.storage import TextFiles
lease.RENEW_EVERY_S = lease.RETRY_S = lease_file.RETRY_S = 0.5
lease_file.HELD_S, lease.END_S = 3.0, 1.0
files = TextFiles(sys.argv[1])
files.write("read", "")
with lease.remote_leases({"tables.path": sys.argv[1]}, Event()):
    print("taken", flush=True)
    sys.stdin.readline()
    files.read("read")
    print("goes on", flush=True)
"""


@pytest.mark.deep("an object store, which Go builds first")
def test_process_whose_threads_all_stand_still_ends_in_time(server: LoopbackStore, folder: str) -> None:
    """deltalake keeps Python's lock in such a read, as those of notifier, pages and metrics do."""
    command = [sys.executable, "-c", FROZEN, folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, bufsize=1, env=environment) as one:
        try:
            assert one.stdout is not None
            assert one.stdin is not None
            assert one.stdout.readline() == "taken\n"
            server.pause()
            one.stdin.write("\n")
            said, why = one.communicate(timeout=60)
        finally:
            server.go_on()
            one.kill()
    assert (one.returncode, said) == (1, "")
    assert why.startswith("Timeout (0:00:0")
    assert "in read" in why


ENDS = """
import sys, time
from threading import Event
from streaming import lease, lease_file
lease.RENEW_EVERY_S = lease.RETRY_S = lease_file.RETRY_S = 0.5
lease_file.HELD_S, lease.END_S, lease.LAST_RESORT_S = 3.0, 1.5, 0.5
stop = Event()
with lease.remote_leases({"tables.path": sys.argv[1], "job.checkpoint": sys.argv[1] + "/checkpoint"}, stop):
    print("taken", flush=True)
    stop.wait()
"""


@pytest.mark.deep("an object store, which Go builds first")
def test_process_that_ends_in_order_says_why_though_the_store_hangs(server: LoopbackStore, folder: str) -> None:
    """To release the leases would take longer than the last resort waits."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", ENDS, folder], stdout=PIPE, stderr=PIPE, text=True, env=environment
    ) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == "taken\n"
            server.pause()
            _, why = one.communicate(timeout=60)
        finally:
            server.go_on()
            one.kill()
    assert re.search(r"streaming\.errors\.AwayError: (tables\.path|job\.checkpoint) = ", why), why
    assert "Timeout (" not in why


@pytest.mark.deep("an object store, which Go builds first")
def test_renewal_whose_answer_was_lost_does_not_lose_the_lease(folder: str) -> None:
    one = StoreLease(KEY, folder)
    assert one.take(Event())
    before = one._version
    one.renew()
    one._version = before
    one.renew()
    one.require_held()


@pytest.mark.deep("an object store, which Go builds first")
def test_owner_that_cannot_renew_stops_by_its_own_clock(server: LoopbackStore, folder: str) -> None:
    """Before another may take the lease, though its requests hang."""
    stop = Event()

    def work() -> None:
        with remote_leases({KEY: folder}, stop) as require_held:
            server.pause()
            try:
                assert stop.wait(60)
                with pytest.raises(AwayError):
                    require_held()
            finally:
                server.go_on()

    with pytest.raises(AwayError, match="could not be renewed for 2 s"):
        work()
