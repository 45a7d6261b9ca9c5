"""Waiting for an event, with a limit that only ends a hang."""

import time
from collections.abc import Callable


def until(happens: Callable[[], object], within_s: float = 60, what: str = "it happened") -> None:
    deadline = time.monotonic() + within_s
    while not happens():
        assert time.monotonic() < deadline, f"{within_s} s were not enough until {what}"
        time.sleep(0.02)
