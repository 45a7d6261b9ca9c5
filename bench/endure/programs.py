"""The programs of a run, each in a session of its own with a log, and one run's folder."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from bench.endure.measures import AT, LIFE, TS, Line
from bench.endure.report import LINES, read_lines
from bench.results import say
from streaming.errors import MonitorError
from streaming.wall_clock import now_ms
from testing.process_session import kill_all

ROOT = Path(__file__).parents[2]
EVENKEEL = (sys.executable, "-m", "streaming")
ENDS_WITHIN_S = 60
EVERY_S = 30.0
PARTITIONS = 4
KAFKA_KEEPS = {"retention.ms": "1800000", "segment.ms": "300000", "message.timestamp.type": "LogAppendTime"}
LINES_AT_LEAST = 40  # of a short run


class Program:
    """A process, from its start to ``stop``."""

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self._log = folder / "logs" / f"{name}.log"
        self._log.parent.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            self._before = log.tell()
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def require_running(self) -> None:
        if self.status is not None:
            raise MonitorError(
                f"{self.name} ended by itself with status {self.status}; its log ends with:\n{self.last_words()}"
            )

    def wait_for(self, words: str, within_s: float) -> None:
        """Wait until its log says this."""
        deadline = time.monotonic() + within_s
        while words not in self._said():
            self.require_running()
            if time.monotonic() > deadline:
                raise MonitorError(f"{self.name} has not said {words!r} within {within_s} s:\n{self.last_words()}")
            time.sleep(0.2)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            say(f"{self.name} has not ended within {ENDS_WITHIN_S} s and is killed")
        self.kill()

    def kill(self) -> None:
        """SIGKILL to it and to all that it has started; none is left when this returns."""
        kill_all(self._process)

    def kill_alone(self) -> None:
        """SIGKILL to the process and not to its children, as when the machine has no memory left."""
        self._process.kill()
        self._process.wait()

    def _said(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._before)
            return log.read().decode(errors="replace")

    def last_words(self) -> str:
        return "\n".join(self._said().splitlines()[-20:])


class Recording:
    """The lines of a run. A run that goes on counts its time from the last line, ``last``, as a new life."""

    def __init__(self, folder: Path, lasts_s: float) -> None:
        self._file = folder / LINES
        lines = read_lines(self._file)
        if lines and not self._file.read_bytes().endswith(b"\n"):  # the run was killed as it wrote
            with self._file.open("a") as file:
                file.write("\n")
        self.life = lines[-1][LIFE] + 1 if lines else 1
        self.last: Line = lines[-1] if lines else {}
        self._before_s = self._written_s = self.last.get(AT, 0.0)
        self._began_s = time.monotonic()
        self._lasts_s = lasts_s
        self.every_s = min(EVERY_S, lasts_s / LINES_AT_LEAST)

    @property
    def at_s(self) -> float:
        return self._before_s + self.life_s

    @property
    def life_s(self) -> float:
        return time.monotonic() - self._began_s

    @property
    def is_over(self) -> bool:
        return self.at_s >= self._lasts_s

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next line."""
        return self.at_s >= self._written_s + self.every_s

    def begin(self) -> None:
        """Count the time from now on, and not that of the start."""
        self._began_s = time.monotonic()

    def write(self, figures: Mapping[str, float | None]) -> None:
        rounded = {key: value if value is None else round(value, 3) for key, value in figures.items()}
        self._written_s = self.at_s
        line: Line = {AT: round(self._written_s, 1), LIFE: self.life, TS: now_ms(), **rounded}
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")


def stop_by_signals(stop: Event) -> None:
    """From now on a signal ends the measuring, and not this process. During the start it ends the process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())


def write_toml(file: Path, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Tables of plain values, by name."""
    sections = (
        "\n".join([f"[{name}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in keys.items())])
        for name, keys in values.items()
    )
    file.write_text("\n\n".join(sections) + "\n")


def environment(folder: Path) -> dict[str, str]:
    """Of a program, whose temporary files are in the folder of the run."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(_made(folder / "scratch"))}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
