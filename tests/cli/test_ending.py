"""A signal ends a command whatever its main thread is doing at that moment."""

import logging
import os
import signal
import sys
from io import StringIO
from threading import Event

import pytest

from streaming.shutdown_signals import ended_by_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_in_the_middle_of_a_line_of_the_log_is_not_lost(number: int) -> None:
    """The logging swallows what a handler raises there, and with it the signal."""

    class Signalled(StringIO):
        def write(self, text: str) -> int:
            os.kill(os.getpid(), number)
            sum(range(100_000))  # the handler runs in here
            if self.is_busy:
                raise RuntimeError("reentrant call")  # as a buffered stream says
            self.is_busy = True
            return super().write(text)

        is_busy = False

    stop, log = Event(), logging.getLogger("streaming.ending.test")
    handler = logging.StreamHandler(Signalled())
    log.addHandler(handler)
    try:
        with ended_by_signals(stop):
            log.warning("a line")
            assert stop.wait(60)
    finally:
        log.removeHandler(handler)


def test_signal_while_the_main_thread_is_inside_the_event_does_not_lock_it_up() -> None:
    stop = Event()
    with ended_by_signals(stop):
        with stop._cond:  # type: ignore[attr-defined] # as wait() holds it for a moment
            os.kill(os.getpid(), signal.SIGTERM)
            sum(range(100_000))
        assert stop.wait(60)


def test_handlers_of_before_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ended_by_signals(Event()):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_does_not_end_in_time_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, stop = Event(), Event()
    monkeypatch.setattr(os, "_exit", lambda status: ended.set() if status == 0 else sys.exit("wrong status"))
    with ended_by_signals(stop, 0.05):
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended.wait(60)
    assert stop.is_set()
