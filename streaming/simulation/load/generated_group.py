"""One stamped group: it lives from stretch to stretch, and tells the events of one round after the other."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from schemas.identity import group_key
from streaming.simulation.load.event_template import SEQ, TS
from streaming.simulation.load.group_template import Excursion, Mould
from streaming.simulation.load.renaming import Part, cast
from streaming.simulation.load.segment import Stretch

OLDEST_MS = 10**9  # for how long before they are first seen clients have run, at most


class Told(NamedTuple):
    """The events of one round, and when its marker is told."""

    ts: int
    events: list[bytes]


class StampedGroup:
    """``next_deed`` is asked at the end of each minute at rest what befalls the group now; None: nothing.

    ``first_place`` is the round of that minute with which it first rests: not all groups tell the same at a time.
    """

    def __init__(
        self,
        mould: Mould,
        part: Part,
        random: Random,
        next_deed: Callable[[StampedGroup, int], Excursion | None] = lambda _group, _ts: None,
        first_place: int = 0,
    ) -> None:
        self.mould, self.part = mould, part
        self.key = group_key(part.cluster, part.group).encode()
        self._next_deed, self._first_place = next_deed, first_place
        self._names = cast(mould.slots, part, random)
        self._numbers = [0] * mould.slots.numbers
        self._numbers[SEQ] = random.randrange(1 << 20)
        for place in mould.slots.offsets.values():
            self._numbers[place] = random.randrange(1 << 33, 1 << 34)
        self._ages = [(place, ms - random.randrange(OLDEST_MS)) for place, ms in mould.ages]
        self._stretch, self._place = mould.opening, 0

    def open(self, ts: int) -> None:
        """A collector begins to watch it at ``ts``."""
        self._begin(self.mould.opening, ts)
        self._start_clients()

    def introduce(self, ts: int) -> list[bytes]:
        """As few events as make it known, all before ``ts``; it then rests."""
        self._begin(self.mould.introduction, ts - self.mould.introduction.lasts_ms)
        self._start_clients()
        events = [value for _ in self._stretch.rounds for value in self._round()]
        self._rest_first(ts)
        return events

    def next_round(self) -> Told:
        """Whatever comes next in its life."""
        if self._place == len(self._stretch.rounds):
            self._go_on()
        marker_ts = self._numbers[TS] + self._stretch.marks[self._place]
        return Told(marker_ts, self._round())

    def _round(self) -> list[bytes]:
        names, numbers, events = self._names, self._numbers, []
        for template in self._stretch.rounds[self._place]:
            numbers[SEQ] += 1
            events.append(template.fill(names, numbers))
        self._place += 1
        return events

    def _go_on(self) -> None:
        """The stretch has ended: at rest something may befall the group, and else it rests."""
        mould, ended, ts = self.mould, self._stretch, self._numbers[TS] + self._stretch.lasts_ms
        if ended is mould.opening:
            self._rest_first(ts)
            return
        self._end()
        deed = self._next_deed(self, ts) if ended is mould.rest else None
        self._begin(mould.rest if deed is None else deed.stretch, ts)

    def _rest_first(self, ts: int) -> None:
        """From the round that is its own on."""
        self._end()
        rest = self.mould.rest
        self._begin(rest, ts - self._first_place * rest.lasts_ms // len(rest.rounds))
        self._place = self._first_place

    def _begin(self, stretch: Stretch, ts: int) -> None:
        self._stretch, self._place = stretch, 0
        self._numbers[TS] = ts

    def _end(self) -> None:
        for place, more in self._stretch.grown:
            self._numbers[place] += more
        for place, ms in self._stretch.started:
            self._numbers[place] = self._numbers[TS] + ms

    def _start_clients(self) -> None:
        for place, ms in self._ages:
            self._numbers[place] = self._numbers[TS] + ms
