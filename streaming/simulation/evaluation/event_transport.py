"""The way from the collector to the detector, on which events may be lost or overtaken."""

from collections.abc import Callable
from random import Random

from schemas.events import AnyEvent
from streaming.simulation.virtual_clock import VirtualClock

LATE_MS = (50, 8_000)  # most events come alone, with the marker of their round, every 5 s


class EventTransport:
    """``lost`` and ``late`` are shares of the events."""

    def __init__(self, seed: str, clock: VirtualClock, arrive: Callable[[AnyEvent], None]) -> None:
        self.lost = self.late = 0.0
        self.loses_next = False
        self._random, self._clock, self._arrive = Random(f"{seed}/wire"), clock, arrive

    def send(self, event: AnyEvent) -> None:
        if self.loses_next or (self.lost and self._random.random() < self.lost):
            self.loses_next = False
        elif self.late and self._random.random() < self.late:
            self._clock.after(self._random.randrange(*LATE_MS), self._arrive, event)
        else:
            self._arrive(event)
