"""Rounds of a simulated fleet to an output, in their order: at once, or each when its marker is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from streaming.feed.outputs import Output
from streaming.simulation.load.generated_group import GroupRound

PROGRESS_EVERY_S = 5.0
NAP_S = 0.05
ROUNDS_A_LOOK = 64  # after so many the clock is looked at


class Fed(NamedTuple):
    """The result of feeding: the ``seconds`` it took, and the longest delay of a round after its time.

    ``share``: the part of the fleet's time that is done, 0 to 1.
    """

    events: int
    seconds: float
    late_s: float = 0.0
    share: float = 0.0
    rounds: int = 0

    @property
    def events_per_s(self) -> float:
        return self.events / max(self.seconds, 1e-9)


class Clock(NamedTuple):
    """A clock. ``now``: seconds since the epoch. Tests have a clock that does not wait."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


REAL = Clock()


class Feed:
    """A feed of rounds. ``fed``: its progress, also when interrupted; ``on_progress`` gets it every few seconds."""

    def __init__(
        self, output: Output, on_progress: Callable[[Fed], None] = lambda _: None, clock: Clock = REAL
    ) -> None:
        self._output, self._on_progress, self._clock = output, on_progress, clock
        self._began = self._reported_at = clock.now()
        self._events, self._rounds, self._late_s, self._share = 0, 0, 0.0, 0.0

    @property
    def fed(self) -> Fed:
        return Fed(self._events, self._clock.now() - self._began, self._late_s, self._share, self._rounds)

    def at_once(self, rounds: Iterator[GroupRound], until_ts: int) -> Fed:
        """Send all rounds whose markers come before ``until_ts``, as fast as they can be made."""
        for number, group_round in enumerate(self._until(rounds, until_ts)):
            self._send(group_round)
            if number % ROUNDS_A_LOOK == 0:
                self._report_if_due(self._clock.now())
        return self.fed

    def paced(self, rounds: Iterator[GroupRound], until_ts: int) -> Fed:
        """Send each round when its marker's time has come. A round that is late is sent at once."""
        for group_round in self._until(rounds, until_ts):
            while (wait_s := group_round.ts / 1000 - (now := self._clock.now())) > 0:
                self._output.flush()
                self._clock.sleep(min(wait_s, NAP_S))
            self._late_s = max(self._late_s, -wait_s)
            self._send(group_round)
            self._report_if_due(now)
        return self.fed

    def _until(self, rounds: Iterator[GroupRound], until_ts: int) -> Iterator[GroupRound]:
        first_ts = None
        for group_round in rounds:
            if group_round.ts >= until_ts:
                break
            first_ts = group_round.ts if first_ts is None else first_ts
            self._share = (group_round.ts - first_ts) / max(1, until_ts - first_ts)
            yield group_round
        self._share = 1.0

    def _send(self, group_round: GroupRound) -> None:
        self._output.send(group_round)
        self._events += len(group_round.events)
        self._rounds += 1

    def _report_if_due(self, now: float) -> None:
        if now - self._reported_at >= PROGRESS_EVERY_S:
            self._reported_at = now
            self._on_progress(self.fed)
