"""Long commands say how far they have come: over and over in one line of a terminal, now and then in a log."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.progress import IN_A_LOG_S, Progress

ROOT = Path(__file__).parents[1]


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_now_and_then() -> None:
    log, clock = io.StringIO(), Clock()
    with Progress(log, clock) as progress:
        for second in range(int(2.5 * IN_A_LOG_S)):
            clock.at = second
            progress.say(f"{second} events")

    assert log.getvalue() == "evenkeel: 30 events, 30 s\nevenkeel: 60 events, 60 s\n"


def test_a_terminal_has_a_bar_of_what_can_be_counted() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress(terminal, clock) as progress:
        for done in range(3):
            clock.at += 1
            progress.count(done, 4, "incidents")
        clock.at += 1
        progress.count(7, None, "events read")

    shown = terminal.getvalue().split("\r\x1b[K")[1:]
    assert shown == [
        "[--------------------] 0 of 4 incidents, 1 s",
        "[#####---------------] 1 of 4 incidents, 2 s",
        "[##########----------] 2 of 4 incidents, 3 s",
        "7 events read, 4 s",
        "",
    ]


def test_a_line_that_stays_leaves_no_rest_of_another() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress(terminal, clock) as progress:
        clock.at = 1
        progress.say("1 of 2")
        progress.note("interrupted")

    assert terminal.getvalue() == "\r\x1b[K1 of 2, 1 s\r\x1b[Kinterrupted\n"


AT_ONCE = """
import sys
from streaming import progress
from streaming.cli import main
progress.ON_A_TERMINAL_S = 0
sys.exit(main(sys.argv[1:]))
"""


def on_a_terminal(*command: str) -> tuple[str, str]:
    """Standard output, and what the terminal that standard error is saw. Each step is shown, also one of an instant."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", AT_ONCE, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.stdout is not None
    with process.stdout as said:
        out = said.read().decode()
    assert process.wait(60) == 0
    return out, seen.decode()


@pytest.mark.slow("processes are started")
def test_simulate_and_replay_tell_a_terminal_how_far_they_are_and_leave_nothing_there(tmp_path: Path) -> None:
    events = str(tmp_path / "events.jsonl")
    made, shown = on_a_terminal("simulate", "--groups", "12", "--seconds", "900", "--to", events)
    assert "kinds of groups simulated, " in shown
    assert "of 12 groups" in made
    assert_nothing_is_left(shown)
    judged, shown = on_a_terminal("replay", events, "--engine", "core")
    assert "events judged, " in shown
    assert "12 groups" in judged
    assert_nothing_is_left(shown)


def assert_nothing_is_left(shown: str) -> None:
    assert shown.endswith("\r\x1b[K")
    assert "\n" not in shown


@pytest.mark.slow("processes are started")
def test_a_short_replay_says_nothing_in_a_log() -> None:
    recording = "streaming/demo/recordings/d_sameid.jsonl.gz"
    command = [sys.executable, "-m", "streaming", "replay", recording, "--engine", "core"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stderr == ""
