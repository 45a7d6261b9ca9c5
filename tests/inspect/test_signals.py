"""Ctrl-C and SIGTERM at whatever moment: a quiet end, and a terminal that is as it was. Real processes and signals."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, served

pytestmark = pytest.mark.slow("a look takes seconds")
ROOT = Path(__file__).parents[2]
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
QUEUES = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]


@pytest.fixture(scope="module")
def namesrv() -> Iterator[str]:
    fake = FakeCluster(groups={"g": FakeGroup([FakeClient("10.0.0.1@c1", QUEUES)])})
    with served(fake):
        for node in fake.nodes.values():
            node.manner, node.delay_s = "slow", 0.3
        yield fake.namesrv[0]


def on_a_terminal(words: list[str], number: int, cue: bytes) -> tuple[int, bytes]:
    """Run a command, and send it a signal a second after it has written the cue."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(ROOT)
        os.execvpe(
            sys.executable,
            [sys.executable, "-m", "streaming", *words],
            {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        )
    written, deadline, due = b"", time.monotonic() + 60, 0.0
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 65_536)
            except OSError:  # the other side is closed
                break
            written += piece
        if cue in written and not due:
            due = time.monotonic() + 1
        if due and time.monotonic() > due:
            os.kill(pid, number)
            due = float("inf")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), written


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_cursor_is_shown_again_when_a_look_is_ended(number: int, status: int, namesrv: str) -> None:
    code, written = on_a_terminal(["inspect", "--namesrv", namesrv, "--seconds", "30"], number, HIDE)
    assert code == status
    assert written.rindex(SHOW) > written.rindex(HIDE)
    assert b"Traceback" not in written


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watching_ends_with_the_last_page_and_the_cursor_shown(number: int, namesrv: str) -> None:
    code, written = on_a_terminal(["inspect", "--namesrv", namesrv, "--watch"], number, b"watched for")
    assert code in (0, 2)
    assert written.rindex(SHOW) > written.rindex(HIDE)
    assert b"watched for" in written[written.rindex(b"\x1b[?1049l") :]
    assert b"Traceback" not in written


# Sends itself the signal while asyncio makes its loop, begins its n-th task, or closes the loop.
AT_A_MOMENT = """
import asyncio, gc, signal, sys
from streaming.cli import main

moment, number, *words = sys.argv[1:]
number, tasks = int(number), 0
signal.signal(signal.SIGINT, signal.default_int_handler)

class Loop(asyncio.SelectorEventLoop):
    def create_task(self, *args, **options):
        global tasks
        tasks += 1
        if moment == f"task {tasks}":
            signal.raise_signal(number)
        return super().create_task(*args, **options)

    def close(self):
        if moment == "closed" and not self.is_closed():
            signal.raise_signal(number)
        super().close()

class Policy(asyncio.DefaultEventLoopPolicy):
    _loop_factory = Loop

    def new_event_loop(self):
        if moment == "made":
            signal.raise_signal(number)
        return super().new_event_loop()

asyncio.set_event_loop_policy(Policy())
status = main(words)
gc.collect()
sys.exit(status)
"""


@pytest.mark.parametrize("command", ["inspect", "inspect --watch", "collect --dry-run"])
@pytest.mark.parametrize("moment", ["made", "task 1", "task 3", "task 9", "closed"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_at_any_moment_is_a_quiet_end(command: str, moment: str, number: int, namesrv: str) -> None:
    if command == "inspect --watch" and moment == "closed":
        pytest.skip("without a signal before it, the loop is never closed")
    words = command.split() + (["--namesrv", namesrv, "--seconds", "1"] if "inspect" in command else [])
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "EVENKEEL__LOG__LEVEL": "WARNING",
        "EVENKEEL__COLLECTOR__CLUSTERS": f'{{"prod": "{namesrv}"}}',
    }
    program = [sys.executable, "-c", AT_A_MOMENT, moment, str(int(number)), *words]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    ended = {0, 2} if "--watch" in words else {128 + number}
    assert done.returncode in ended
