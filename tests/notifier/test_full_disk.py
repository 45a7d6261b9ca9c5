"""A notifier whose folder takes nothing when it starts: pages are sent all the same."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from streaming.errors import SetupError
from streaming.notifier.exposed import NotifierCounts
from streaming.notifier.state_files import StateInUse, locked_folder
from streaming.notifier.threads import SettingsInForce, deliver
from testing.http_server import Server
from testing.waiting import until
from testing.written import commit
from tests.notifier.facts import alert, health
from tests.notifier.test_threads import Clock, clock, hook, plan, said, serving  # noqa: F401


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """64 KB that are full to the last byte, so that a folder can be made and nothing can be written."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("this process may not mount a file system")
    with suppress(OSError), (disk / "fills").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_pages_are_sent_though_the_disk_is_full(
    plan: Callable[..., Any],  # noqa: F811
    clock: Clock,  # noqa: F811
    full_disk: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    commit(tmp_path / "tables" / "facts", [health(), alert()])
    state = full_disk / "state"
    with Server() as server, serving(plan(hook(server), state=state)):
        until(lambda: server.taken)
        (full_disk / "fills").unlink()
        clock.at = 10
        until((state / "position.json").exists)
        with pytest.raises(StateInUse), locked_folder(state):
            pass
    assert said(server) == [("firing", ["g"])]
    assert "pages are sent, but may be sent again after a restart" in caplog.text


def test_pages_are_sent_though_the_folder_cannot_be_made(
    plan: Callable[..., Any],  # noqa: F811
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once it can, the folder is locked, and what is sent is written down."""
    (tmp_path / "in the way").touch()
    commit(tmp_path / "tables" / "facts", [health(), alert()])
    state = tmp_path / "in the way" / "state"
    with Server() as server, serving(plan(hook(server), state=state)):
        until(lambda: server.taken)
        (tmp_path / "in the way").unlink()
        until((state / "lock").exists)
        with pytest.raises(StateInUse), locked_folder(state):
            pass
    assert (state / "position.json").exists()
    assert said(server) == [("firing", ["g"])]
    assert "cannot be locked: [Errno 20] Not a directory" in caplog.text


@pytest.mark.slow("hours of pages")
def test_a_reload_is_refused_while_only_memory_has_what_was_sent(
    plan: Callable[..., Any],  # noqa: F811
    clock: Clock,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "in the way").touch()
    commit(tmp_path / "tables" / "facts", [health(), alert()])
    state = tmp_path / "in the way" / "state"
    stop, counts = Event(), NotifierCounts()
    with Server() as server:
        whole = plan(hook(server), state=state)
        in_force = SettingsInForce(whole)
        delivering = Thread(target=deliver, args=(in_force, stop, counts))
        delivering.start()
        until(lambda: server.taken and counts.status is not None and counts.status.sinks[0].unsaved)
        with pytest.raises(
            SetupError, match=r"\(notify.state\) cannot be written: .*; a reload would send pages again"
        ):
            in_force.take(plan(hook(server), state=state), counts)
        assert in_force.settings is whole
        (tmp_path / "in the way").unlink()
        clock.at = 10
        until(lambda: counts.status is not None and not counts.status.reasons_unsaved())
        in_force.take(plan(hook(server), state=state), counts)
        clock.at = 30
        commit(tmp_path / "tables" / "facts", [health(at=30), alert(at=30, state="resolved", fired=0, seq=2)])
        until(lambda: len(server.taken) == 2)
        stop.set()
        delivering.join()
        assert said(server) == [("firing", ["g"]), ("resolved", ["g"])]


def test_first_notifier_ends_where_a_second_one_could_take_the_lock(
    plan: Callable[..., Any],  # noqa: F811
    tmp_path: Path,
) -> None:
    way = tmp_path / "in the way"
    way.touch()
    counts = NotifierCounts()

    def until_the_second_has_it() -> None:
        until(lambda: counts.status is not None)
        way.unlink()
        (tmp_path / "other").rename(way)

    with locked_folder(tmp_path / "other" / "state"):
        Thread(target=until_the_second_has_it, daemon=True).start()
        with pytest.raises(StateInUse):
            deliver(SettingsInForce(plan(state=way / "state")), Event(), counts)
