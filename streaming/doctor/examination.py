"""All areas at the same time, each within its time, and the whole within a bound.

What an area has found is kept when it hangs. The tables are read in a process of their own: some reads of deltalake
stop all threads of Python until they end.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from threading import Thread
from typing import NamedTuple

from streaming.doctor.checks import Check, Report, in_order, unknown
from streaming.errors import MonitorError
from streaming.wall_clock import now_ms

TOTAL_S = 30.0  # so long somebody who waits for the report has patience
AREA_S = 25.0  # then an area is given up
PROCESS_S = 24.0  # less, so that the thread that waits for the process kills it
DEATH_S = 1.0  # its pipe is closed a moment before its exit status is known
FINDS = Callable[[], Iterable[Check]]


class Area(NamedTuple):
    """An area of checks. ``finds`` may raise, and may never end. ``within_s``: its time."""

    name: str
    finds: FINDS
    within_s: float = AREA_S


def examined(version: str, areas: Sequence[Area], total_s: float = TOTAL_S) -> Report:
    """Make all checks. Never raises."""
    ts, began = now_ms(), time.monotonic()
    works = [_Work(area) for area in areas]
    checks = [check for work in works for check in work.result(began + min(work.area.within_s, total_s))]
    return Report(version, ts, round(time.monotonic() - began, 1), in_order(checks))


class _Work:
    """An area in a thread of its own, which does not keep the process from ending."""

    def __init__(self, area: Area) -> None:
        self.area = area
        self._found: list[Check] = []
        self._thread = Thread(target=self._run, name=f"doctor-{area.name}", daemon=True)
        self._thread.start()

    def result(self, until: float) -> list[Check]:
        """The checks that were made until then, by the monotonic clock."""
        self._thread.join(max(0, until - time.monotonic()))
        found = list(self._found)
        if self._thread.is_alive():
            found.append(_given_up(self.area.name, self.area.within_s))
        return found

    def _run(self) -> None:
        try:
            for check in self.area.finds():
                self._found.append(check)
        except Exception as error:
            self._found.append(_failed(self.area.name, error))


def found_by(module: str, *given: object, function: str = "checks") -> Iterator[Check]:
    """The checks that a module of this package makes. It is imported now: one that cannot be is no reason to lose the
    checks of others.
    """
    yield from getattr(import_module(f"streaming.doctor.{module}"), function)(*given)


def in_process(module: str, *given: object, function: str = "checks", within_s: float = PROCESS_S) -> Iterator[Check]:
    """The same, in another process, which is killed when its time is over."""
    until = time.monotonic() + within_s
    spawning = multiprocessing.get_context("spawn")  # this process has threads
    ours, theirs = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_send_all, args=(theirs, module, function, given), daemon=True)
    process.start()
    theirs.close()
    try:
        while ours.poll(max(0, until - time.monotonic())):
            check = ours.recv()
            if check is None:
                return
            yield check
        yield _given_up(module, within_s)
    except (EOFError, OSError):  # between two checks, or within one
        process.join(DEATH_S)
        yield _died(module, process.exitcode)
    finally:
        process.kill()
        process.join()
        ours.close()


def _send_all(out: Connection, module: str, function: str, given: tuple[object, ...]) -> None:
    """Its standard error is closed: only checks leave it, which pass the mask of the process that prints them."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        for check in found_by(module, *given, function=function):
            out.send(check)
    except Exception as error:
        out.send(_failed(module, error))
    out.send(None)  # the end: without it, the process has died
    out.close()


def _given_up(area: str, within_s: float) -> Check:
    return unknown(
        area, "the rest", f"it had not ended after {within_s:g} s; what comes after the lines above is missing"
    )


def _died(area: str, exit_code: int | None) -> Check:
    """A process that was killed, such as for want of memory (-9)."""
    mend = "journalctl -k shows whether the kernel killed it for memory" if exit_code == -signal.SIGKILL else ""
    return unknown(area, "the rest", f"its process ended with {exit_code}; what comes after is missing", mend)


def _failed(area: str, error: Exception) -> Check:
    if isinstance(error, MonitorError):
        return unknown(area, "the rest", str(error))
    mend = "install its packages again: docs/install.md" if isinstance(error, ImportError) else "report this fault"
    return unknown(area, "the rest", f"evenkeel failed to check it: {type(error).__name__}: {error}", mend)
