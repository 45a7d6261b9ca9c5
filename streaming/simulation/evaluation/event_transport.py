"""The way from the collector to the detector, on which events may be lost or overtaken, and the collector's clock."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from msgspec.structs import replace

from schemas.events import AnyEvent, AssignmentReport, Round
from streaming.simulation.virtual_clock import VirtualClock

LATE_MS = (50, 3_000)


class Wire:
    """``lost`` and ``late`` are shares of the events. ``clock_is_back_ms``: how far every time is in the past."""

    def __init__(self, seed: str, clock: VirtualClock, arrive: Callable[[AnyEvent], None]) -> None:
        self.lost = self.late = 0.0
        self.loses_next = False
        self.clock_is_back_ms = 0
        self._random, self._agenda, self._arrive = Random(f"{seed}/wire"), clock, arrive

    def send(self, event: AnyEvent) -> None:
        if self.clock_is_back_ms:
            event = self._told_by_the_clock(event)
        if self.loses_next or (self.lost and self._random.random() < self.lost):
            self.loses_next = False
        elif self.late and self._random.random() < self.late:
            self._agenda.after(self._random.randrange(*LATE_MS), self._arrive, event)
        else:
            self._arrive(event)

    def _told_by_the_clock(self, event: AnyEvent) -> AnyEvent:
        """Numbers of rounds rise all the same; when a client started is told by its own clock."""
        back_ms = self.clock_is_back_ms
        told = replace(event, ts=event.ts - back_ms)
        if isinstance(told, AssignmentReport):
            return replace(told, answered_ts=told.answered_ts - back_ms)
        return replace(told, started_ts=told.started_ts - back_ms) if isinstance(told, Round) else told
