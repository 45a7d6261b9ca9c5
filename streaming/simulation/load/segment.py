"""A stretch of a simulated group's life: the events of some rounds, and what is different after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.events import AnyEvent, Round
from schemas.identity import MessageQueue
from streaming.simulation.collector import Collector
from streaming.simulation.load.event_template import Beginning, Slots, Template, template
from streaming.simulation.pace import LIVE
from streaming.simulation.simulated_group import World

CLUSTER = "simulated"
ROUND_MS = LIVE.interval_ms
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Take:
    """What a collector told in so many rounds, round by round. ``starts`` and ``offsets`` are those at the end."""

    rounds: list[list[AnyEvent]]
    beginning: Beginning
    starts: Mapping[str, int]
    offsets: Mapping[MessageQueue, int]

    @property
    def marker(self) -> Round:
        """Of the first round."""
        return next(event for event in self.rounds[0] if isinstance(event, Round))


class Watched:
    """A world that has settled, and a collector that comes to watch it. It stands still just before a round."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._events: list[AnyEvent] = []
        world.warm_up()
        self._before = self._beginning()
        Collector(world.fleet, CLUSTER, self._events.append).start()

    def take(self, rounds: int) -> Take:
        """The next so many rounds. What was done to the world since the last time is part of them."""
        fleet, before = self.world.fleet, self._before
        while not (markers := [event for event in self._events if isinstance(event, Round)]):
            fleet.run(_LOOK_S)
        began = markers[0].round
        fleet.agenda.run_until(began + rounds * ROUND_MS - 1)
        blocks: list[list[AnyEvent]] = [[]]
        for event in self._events:
            blocks[-1].append(event)
            if isinstance(event, Round):
                blocks.append([])
        self._events[:] = blocks.pop()  # what came since is part of the next round
        after = self._before = self._beginning()
        return Take(blocks, before._replace(ts=began), after.starts, after.offsets)

    def _beginning(self) -> Beginning:
        fleet = self.world.fleet
        starts = {client.client_id: client.start_ts + client.clock_is_off_ms for client in fleet.clients}
        logs = [log for broker in fleet.brokers.values() for log in broker.logs.values()]
        return Beginning(fleet.now, starts, {log.queue: log.max_offset(fleet.now) for log in logs})


@dataclass(frozen=True, slots=True)
class Stretch:
    """``rounds`` are the events up to each marker, ``marks`` when each marker is told, in ms from the beginning.

    At its end ``grown`` are the group's numbers that are so much larger, and ``started`` those that are now as many ms
    after its beginning.
    """

    rounds: tuple[tuple[Template, ...], ...]
    marks: tuple[int, ...]
    lasts_ms: int
    grown: tuple[tuple[int, int], ...]
    started: tuple[tuple[int, int], ...]


def stretch_of(take: Take, slots: Slots, pace: float = 1.0) -> Stretch:
    """``pace``: all times are so many times as far apart."""
    beginning = take.beginning._replace(pace=pace)
    rounds = tuple(tuple(template(event, slots, beginning) for event in events) for events in take.rounds)
    marks = tuple(round((events[-1].ts - beginning.ts) * pace) for events in take.rounds)
    before = beginning.offsets
    grown = ((slots.offset(queue), offset - before.get(queue, 0)) for queue, offset in take.offsets.items())
    started = (
        (slots.start(client_id), round((ts - beginning.ts) * pace))
        for client_id, ts in take.starts.items()
        if beginning.starts.get(client_id) != ts
    )
    lasts_ms = round(len(take.rounds) * ROUND_MS * pace)
    return Stretch(rounds, marks, lasts_ms, tuple(grown), tuple(started))
