"""One simulated group, as a template for many: how it is first seen, an idle minute, and its disruptions.

An idle group repeats itself every five minutes: what a collector does, and all timers of a client, have periods that
five minutes are a multiple of, but for offsets, which are read every 20 to 25 s. A disruption begins where an idle
minute ends, and ends with the group as it was. So any order of idle minutes and disruptions is a life that the
simulated group might have led.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from streaming.collector.translation.repetition import EVERY_MS
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.consumer import Consumer
from streaming.simulation.load.event_template import Placeholders
from streaming.simulation.load.segment import ROUND_MS, RecordedRounds, Segment, WatchedGroup, segment_of
from streaming.simulation.name_server import QueueData
from streaming.simulation.simulated_group import TOPIC, Shape, SimulatedGroup


class GroupSnapshot(NamedTuple):
    """The configuration of each client, and the topic's queues by broker."""

    configs: Mapping[str, ClientConfig]
    queues: Mapping[str, QueueData]


def snapshot_of(group: SimulatedGroup) -> GroupSnapshot:
    configs = {client.client_id: client.config for client in group.clients}
    return GroupSnapshot(configs, {name: broker.topics[TOPIC] for name, broker in group.fleet.brokers.items()})


def restore(group: SimulatedGroup, before: GroupSnapshot) -> None:
    """Restore the group: new clients leave, missing ones start, and clients with another configuration restart."""
    changed = {n: data for n, data in before.queues.items() if group.fleet.brokers[n].topics[TOPIC] != data}
    if changed:
        numbers = {n: (data.read_queue_nums, data.write_queue_nums, data.perm) for n, data in changed.items()}
        group.fleet.put_topic(TOPIC, numbers)
    there: set[str] = set()
    for client in list(group.clients):
        if client.client_id in there or not _runs_as(client, before.configs.get(client.client_id)):
            group.fleet.leave(client)
        else:
            there.add(client.client_id)
    for client_id, config in before.configs.items():
        if client_id not in there:
            group.start(client_id, config)


def _runs_as(client: Consumer, config: ClientConfig | None) -> bool:
    is_hindered = (
        client.is_paused or client.pull_service_is_dead or client.cannot_reach or client.cannot_reach_name_server
    )
    rebalance = client.rebalance
    is_changed = client.config != config or client.topics.items() < dict(client.config.topics).items()
    return not (is_hindered or is_changed or rebalance.is_stuck or rebalance.keeps_old_locks)


FIRST_MINUTES = 6  # in which all is told in full twice; then joins are no longer recent
IDLE_MINUTES = EVERY_MS // 60_000  # within which everything is told in full once
LASTS_S, AFTERWARDS_S = 240, 240
END = "the group ends"  # the name of the last disruption of a group, after which there is no more round of it
BACK_AFTER_MS = (10_000, 40_000)  # after a fault is mended: who was started again meanwhile needs some seconds


class Disruption(NamedTuple):
    """A disruption of a group: ``inject`` causes it and returns the function that undoes it."""

    name: str
    inject: Callable[[SimulatedGroup], Callable[[], object]]
    lasts_s: int = LASTS_S
    afterwards_s: int = AFTERWARDS_S


class RecordedDisruption(NamedTuple):
    """The events of a disruption, from its injection until the group is healthy again."""

    segment: Segment
    mended_ms: int


class GroupTemplate:
    """The template of a shape. ``ages``: the index of each client's start, and its time before the first round.

    ``round_ms``: the collector's interval, of which a minute has a whole number.
    """

    def __init__(
        self, shape: Shape, seed: str, disruptions: Iterable[Disruption] = (), round_ms: int = ROUND_MS
    ) -> None:
        self.placeholders = Placeholders()
        self._shape, self._seed, self._round_ms = shape, seed, round_ms
        self.rounds_a_minute = 60_000 // round_ms
        watched, first_minutes = self._settled(round_ms)
        idle = [watched.record(self.rounds_a_minute) for _ in range(IDLE_MINUTES)]
        self.first_minutes = segment_of(first_minutes, self.placeholders)
        self.idle = tuple(segment_of(minute, self.placeholders) for minute in idle)
        self.introduction = self._introduction()
        origin = first_minutes.origin
        ages = ((self.placeholders.start(client_id), ts - origin.ts) for client_id, ts in origin.starts.items())
        self.ages = tuple(ages)
        self.disruptions = {disruption.name: self._record(disruption) for disruption in disruptions}

    def _settled(self, round_ms: int) -> tuple[WatchedGroup, RecordedRounds]:
        watched = WatchedGroup(SimulatedGroup(self._shape, self._seed), round_ms)
        return watched, watched.record(FIRST_MINUTES * 60_000 // round_ms)

    def _introduction(self) -> Segment:
        """The first minutes in as few events as the clock of the group allows: a round a minute."""
        return segment_of(self._settled(60_000)[1], self.placeholders)

    def _record(self, disruption: Disruption) -> RecordedDisruption:
        """The events of the same group again, up to the moment of the disruption."""
        watched, _ = self._settled(self._round_ms)
        watched.record(self.rounds_a_minute)
        group, mended_ms = watched.group, disruption.lasts_s * 1000
        before = snapshot_of(group)
        undo = disruption.inject(group)
        group.fleet.clock.after(mended_ms, undo)
        for back_ms in BACK_AFTER_MS:
            group.fleet.clock.after(mended_ms + back_ms, restore, group, before)
        recorded = watched.record((disruption.lasts_s + disruption.afterwards_s) * 1000 // self._round_ms)
        return RecordedDisruption(segment_of(recorded, self.placeholders), mended_ms)
