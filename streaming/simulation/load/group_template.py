"""One simulated group, as a mould for many: how it is first seen, a minute at rest, and what may befall it.

At rest a group repeats itself every minute: what a collector does, and all timers of a client, have periods that a
minute is a multiple of, but for offsets, which are read every 20 to 25 s. What befalls a group begins where a minute at
rest ends, and ends with the group as it was. So any order of minutes at rest and excursions is a life that the
simulated group might have led.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from msgspec import structs

from schemas.events import AssignmentReport, ConsumeProgress, Heartbeat, TopicRoute
from streaming.simulation.load.event_template import Slots, Template, template
from streaming.simulation.load.segment import ROUND_MS, Stretch, Take, Watched, stretch_of
from streaming.simulation.load.snapshot import bring_back, standing_of
from streaming.simulation.simulated_group import Shape, World

OPENING, REST = 12, 12  # rounds
LASTS_S, AFTERWARDS_S = 240, 240
BACK_AFTER_MS = (10_000, 40_000)  # after a fault is mended: who was started again meanwhile needs some seconds
# When a group is to be known in as few events as possible: rounds as far apart as its clock allows. At the end its
# joins are no longer recent, nor is the news of its topics, so that the reports of the last round count at once.
KNOWN_AFTER_MS = 310_000
ROUNDS_BEFORE_MS, ROUTES_MS = (20_000, 70_000, 180_000), 240_000


class Deed(NamedTuple):
    """What befalls a group: ``bring_about`` does it, and gives back how it is mended."""

    name: str
    bring_about: Callable[[World], Callable[[], object]]
    lasts_s: int = LASTS_S
    afterwards_s: int = AFTERWARDS_S


class Excursion(NamedTuple):
    """A deed as it is seen, from the moment when it is done until all is well again."""

    name: str
    stretch: Stretch
    mended_ms: int


class Mould:
    """Of a group of this shape, whatever its strategy makes of names: they are changed (``Cast``)."""

    def __init__(self, shape: Shape, seed: str, deeds: Iterable[Deed] = (), pace: float = 1.0) -> None:
        self.slots = Slots()
        self._shape, self._seed, self._pace = shape, seed, pace
        _, opening, rest = self._settled()
        self.opening = stretch_of(opening, self.slots, pace)
        self.rest = stretch_of(rest, self.slots, pace)
        self.introduction = _introduction(opening, rest, self.slots, self.rest)
        began = opening.beginning
        self.ages = tuple((self.slots.start(client_id), ts - began.ts) for client_id, ts in began.starts.items())
        self.excursions = {deed.name: self._excursion(deed) for deed in deeds}

    def _settled(self) -> tuple[Watched, Take, Take]:
        watched = Watched(World(self._shape, self._seed))
        return watched, watched.take(OPENING), watched.take(REST)

    def _excursion(self, deed: Deed) -> Excursion:
        """The same group once more, up to the moment when it is done."""
        watched, _, _ = self._settled()
        world, lasts_ms = watched.world, deed.lasts_s * 1000
        before = standing_of(world)
        heal = deed.bring_about(world)
        world.fleet.agenda.after(lasts_ms, heal)
        for back_ms in BACK_AFTER_MS:
            world.fleet.agenda.after(lasts_ms + back_ms, bring_back, world, before)
        taken = watched.take((deed.lasts_s + deed.afterwards_s) * 1000 // ROUND_MS)
        return Excursion(deed.name, stretch_of(taken, self.slots, self._pace), round(lasts_ms * self._pace))


def _introduction(opening: Take, rest: Take, slots: Slots, at_rest: Stretch) -> Stretch:
    """The first round, the last report of everybody, and between them only that time goes by."""
    first, told = opening.rounds[0], partial(template, slots=slots, beginning=opening.beginning)
    heartbeats = [told(event) for event in first if isinstance(event, Heartbeat)]
    routes = [told(event, later_ms=ROUTES_MS) for event in first if isinstance(event, TopicRoute)]
    bare = structs.replace(opening.marker, asked=(), not_asked=())
    said: dict[object, Template] = {}
    for place, events in enumerate(rest.rounds):
        for event in events:
            if isinstance(event, AssignmentReport | ConsumeProgress):
                later_ms = KNOWN_AFTER_MS - place * ROUND_MS
                said[_subject(event)] = template(event, slots, rest.beginning, later_ms)
    rounds = [
        [*heartbeats, told(bare)],
        *([told(bare, later_ms=ms)] for ms in ROUNDS_BEFORE_MS),
        [*routes, *said.values(), told(bare, later_ms=KNOWN_AFTER_MS)],
    ]
    marks = (0, *ROUNDS_BEFORE_MS, KNOWN_AFTER_MS)
    return Stretch(tuple(map(tuple, rounds)), marks, KNOWN_AFTER_MS + ROUND_MS, at_rest.grown, ())


def _subject(event: AssignmentReport | ConsumeProgress) -> object:
    return event.client_id if isinstance(event, AssignmentReport) else (event.topic, event.broker_name)
