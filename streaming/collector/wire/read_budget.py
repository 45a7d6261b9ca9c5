"""Bounds the memory that unfinished answers take on all connections together.

Each answer is bounded by its request, but many brokers may send large ones at once. Over the budget, one connection
goes on reading and the others wait until it is done. So memory is bounded, and some answer always comes to its end.
"""

from typing import Protocol

MOST_BYTES = 128 * 1024 * 1024


class Reader(Protocol):
    """A connection: TCP makes the other side wait while it reads nothing."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Budget:
    """``used``: bytes of answers that have begun to come and are not whole."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.used = 0
        self._most_bytes = most_bytes
        self._held: dict[Reader, int] = {}
        self._paused: list[Reader] = []
        self._going_on: Reader | None = None

    def note(self, reader: Reader, held: int) -> None:
        """``held``: what the reader holds now; 0 once its answer is whole, or the connection is closed."""
        self.used += held - self._held.pop(reader, 0)
        if held:
            self._held[reader] = held
        elif reader in self._paused:
            self._paused.remove(reader)
        if self._going_on is reader and not held:
            self._going_on = None
        if self.used <= self._most_bytes:
            self._resume_all()
        elif self._going_on is None:
            self._let_one_go_on(reader if held else None)
        elif reader is not self._going_on and held and reader not in self._paused:
            self._paused.append(reader)
            reader.pause()

    def _resume_all(self) -> None:
        paused, self._paused, self._going_on = self._paused, [], None
        for reader in paused:
            reader.resume()

    def _let_one_go_on(self, reader: Reader | None) -> None:
        """The one given, else the one that waits longest."""
        chosen = reader or next(iter(self._paused), None)
        if chosen is None:
            return
        self._going_on = chosen
        if chosen in self._paused:
            self._paused.remove(chosen)
            chosen.resume()
