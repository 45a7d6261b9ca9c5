"""SIGINT and SIGTERM notify a loop of asyncio, from its making to its end. Nothing is raised within it.

An exception that a handler raises may hit asyncio between any two steps: then futures and loops are left that Python
complains of on standard error.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Takes them within its block; the handlers from before are back afterwards. In other threads there are none."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._notify: Callable[[], object] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in NUMBERS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def notify(self, what: Callable[[], object]) -> None:
        """Have the running loop call this when a signal comes, or now if one has come."""
        loop = asyncio.get_running_loop()
        self._notify = lambda: loop.call_soon_threadsafe(what)
        if self.received is not None:
            what()

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        if self._notify is not None:
            with suppress(RuntimeError):  # the loop is closed: what was to be stopped has ended
                self._notify()


def run_once(work: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``. A signal cancels the work, and has its own effect once all of it has come to its end."""

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None
        signals.notify(task.cancel)
        return await work

    with Signals() as signals:
        try:
            found = asyncio.run(cancellable())
        except asyncio.CancelledError:
            if signals.received is None:
                raise
    if signals.received is not None:
        signal.raise_signal(signals.received)
        raise KeyboardInterrupt  # its handler did not end the work, which has no result
    return found
