"""A segment of a simulated group: the events of some rounds, and the changes after them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemas.events import AnyEvent, Round
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.simulation.collector import Collector
from streaming.simulation.load.event_template import CLUSTER, EventTemplate, Origin, Placeholders, event_template
from streaming.simulation.simulated_group import SimulatedGroup

ROUND_MS = DEFAULT_POLICY.interval_ms
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class RecordedRounds:
    """The events of a collector, round by round. ``end``: what begins the rounds after them."""

    rounds: list[list[AnyEvent]]
    round_ms: int
    origin: Origin
    end: Origin


class WatchedGroup:
    """A settled group, and a collector that begins to watch it. The time is just before a round."""

    def __init__(self, group: SimulatedGroup, round_ms: int = ROUND_MS) -> None:
        self.group, self._round_ms = group, round_ms
        self._events: list[AnyEvent] = []
        group.warm_up()
        self._before = self._origin()
        policy = replace(DEFAULT_POLICY, interval_ms=round_ms)
        collector = Collector(group.fleet, CLUSTER, self._events.append, policy, list_jitter_ms=1)
        collector.start()  # each minute is like the last

    def record(self, rounds: int) -> RecordedRounds:
        """Record the next rounds. Changes of the group since the last call are part of them."""
        fleet, before = self.group.fleet, self._before
        while not (markers := [event for event in self._events if isinstance(event, Round)]):
            fleet.run(_LOOK_S)
        began = markers[0].round
        fleet.clock.run_until(began + rounds * self._round_ms - 1)
        blocks: list[list[AnyEvent]] = [[]]
        for event in self._events:
            blocks[-1].append(event)
            if isinstance(event, Round):
                blocks.append([])
        self._events[:] = blocks.pop()  # what came since is part of the next round
        self._before = self._origin()
        return RecordedRounds(blocks, self._round_ms, before._replace(ts=began), self._before)

    def _origin(self) -> Origin:
        fleet = self.group.fleet
        starts = {client.client_id: client.start_ts + client.clock_offset_ms for client in fleet.clients}
        logs = [log for broker in fleet.brokers.values() for log in broker.logs.values()]
        return Origin(fleet.now, starts, {log.queue: log.max_offset(fleet.now) for log in logs})


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment. ``rounds``: the events up to each marker; ``marker_ms``: the time of each marker after the beginning.

    At its end ``increments`` are added to the group's numbers (index, how much), and ``restarts`` replace some of them
    (index, milliseconds after the segment's beginning): clients that have started again.
    """

    rounds: tuple[tuple[EventTemplate, ...], ...]
    marker_ms: tuple[int, ...]
    duration_ms: int
    increments: tuple[tuple[int, int], ...]
    restarts: tuple[tuple[int, int], ...]


def segment_of(recorded: RecordedRounds, placeholders: Placeholders) -> Segment:
    origin = recorded.origin
    increments = (
        (placeholders.offset(queue), offset - origin.offsets.get(queue, 0))
        for queue, offset in recorded.end.offsets.items()
    )
    restarts = (
        (placeholders.start(client_id), ts - origin.ts)
        for client_id, ts in recorded.end.starts.items()
        if origin.starts.get(client_id) != ts
    )
    return Segment(
        tuple(tuple(event_template(event, placeholders, origin) for event in events) for events in recorded.rounds),
        tuple(events[-1].ts - origin.ts for events in recorded.rounds),
        len(recorded.rounds) * recorded.round_ms,
        tuple(increments),
        tuple(restarts),
    )
