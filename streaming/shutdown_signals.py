"""SIGTERM and SIGINT end a command in order. The handler only hands the signal to a thread.

A handler runs in the main thread, between any two of its steps. Logging inside a signal handler is not reentrant.
``Event.set`` would wait for ever for a lock that the main thread has while it waits for the event.
``SimpleQueue.put`` is reentrant.
"""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event, Thread
from types import FrameType

from streaming import systemd

SIGNALS = (signal.SIGTERM, signal.SIGINT)
log = logging.getLogger(__name__)


@contextmanager
def ended_by_signals(stop: Event, within_s: float | None = None) -> Iterator[None]:
    """While the block lasts, either signal sets ``stop``. If the block then lasts longer than ``within_s`` seconds, the
    process ends at once with 0. Only the main thread may call this.
    """
    arrived: SimpleQueue[int | None] = SimpleQueue()
    over = Event()

    def handle(number: int, frame: FrameType | None) -> None:
        arrived.put(number)

    def obey() -> None:
        number = arrived.get()
        if number is None:
            return
        stop.set()
        systemd.stopping()
        log.info("%s: stopping", signal.Signals(number).name)
        if within_s is not None and not over.wait(within_s):
            log.warning("ending in the middle of things: what was cut short is done again at the next start")
            os._exit(0)  # Java ends with this process

    Thread(target=obey, name="signals", daemon=True).start()
    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        over.set()
        arrived.put(None)
        for number, handler in before.items():
            signal.signal(number, handler)
