"""One generated group: its names, and its segments, which give the events of one round after the other.

Its names have the order of those of the simulated group: strategies go by the order of client ids and of topics. A
strategy that goes by the names themselves (CONSISTENT_HASH, or rooms in client ids) cannot be renamed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from schemas.identity import host_of, is_retry_topic, java_order, retry_topic
from schemas.records import group_key, record_values
from streaming.simulation.load.event_template import CLIENT, HOST, SEQ, TOPIC, TS, Placeholders
from streaming.simulation.load.group_template import END, GroupTemplate, RecordedDisruption
from streaming.simulation.load.segment import Segment

_HOSTS = 254 * 256 * 256  # addresses in 10.0.0.0/8 whose last number is 1 to 254


class GroupIdentity(NamedTuple):
    """The names of a group. ``source``: the producer of its events.

    ``has_nanos``: client ids are ``ip@pid#nanoseconds``, as clients from 4.9 on make them, else ``ip@pid``.
    """

    cluster: str
    source: str
    group: str
    topic: str
    has_nanos: bool = True


def new_names(placeholders: Placeholders, identity: GroupIdentity, random: Random) -> list[bytes]:
    """The group's names, as ``EventTemplate.fill`` takes them."""
    clients = _by_kind(placeholders, CLIENT)
    found = dict(zip(clients, _client_ids(len(clients), identity.has_nanos, random), strict=True))
    hosts = {host_of(old): host_of(new) for old, new in found.items()}
    topics = [topic for topic in _by_kind(placeholders, TOPIC) if not is_retry_topic(topic)]
    others = {topic: f"{identity.topic}-{index + 1}" if index else identity.topic for index, topic in enumerate(topics)}

    def named(kind: str, text: str) -> str:
        if kind == TOPIC:
            return others.get(text) or retry_topic(identity.group)
        if kind == CLIENT:
            return found[text]
        return hosts[text] if kind == HOST else str(getattr(identity, kind))

    return [named(kind, text).replace("%", "%%").encode() for kind, text in placeholders.names]


def _by_kind(placeholders: Placeholders, expected: str) -> list[str]:
    return sorted((text for kind, text in placeholders.names if kind == expected), key=java_order)


def _client_ids(count: int, has_nanos: bool, random: Random) -> list[str]:
    """The client ids in their order, each on its own host."""
    made = []
    for number in random.sample(range(_HOSTS), count):
        high, low = divmod(number, 254)
        address = f"10.{high >> 8}.{high & 255}.{low + 1}"
        nanos = f"#{random.randrange(10**14, 8 * 10**14)}" if has_nanos else ""
        made.append(f"{address}@{random.randrange(1, 65_536)}{nanos}")
    return sorted(made, key=java_order)


OLDEST_MS = 10**9  # for how long before they are first seen clients have run, at most


Record = tuple[bytes, bytes]  # Kafka's key and value


class GroupRound(NamedTuple):
    """The encoded events of one round of a group. ``ts``: the time of its marker."""

    ts: int
    group: GeneratedGroup
    events: list[bytes]

    def records(self) -> list[Record]:
        """The events as the collector sends them: one record a round, if they fit."""
        return [(self.group.key, joined.value) for joined in record_values(self.events)]


class GeneratedGroup:
    """A generated group. ``next_disruption`` is called at the end of each idle minute: the next disruption, or None.

    ``idle_from``: the round of the idle minutes with which it begins, so that not all groups send the same at a time.
    """

    def __init__(
        self,
        template: GroupTemplate,
        identity: GroupIdentity,
        random: Random,
        next_disruption: Callable[[GeneratedGroup, int], RecordedDisruption | None] = lambda _group, _ts: None,
        idle_from: int = 0,
    ) -> None:
        self.template, self.identity = template, identity
        self.key = group_key(identity.cluster, identity.group).encode()
        self._next_disruption, self._idle_from = next_disruption, idle_from
        self._names = new_names(template.placeholders, identity, random)
        self._numbers = [0] * template.placeholders.numbers
        self._numbers[SEQ] = random.randrange(1 << 20)
        for index in template.placeholders.offsets.values():
            self._numbers[index] = random.randrange(1 << 33, 1 << 34)
        self._ages = [(index, ms - random.randrange(OLDEST_MS)) for index, ms in template.ages]
        self._segment, self._index = template.first_minutes, 0
        self._idle_minute = 0

    def open(self, ts: int) -> None:
        """Begin at ``ts`` like a group that a collector begins to watch."""
        self._begin(self.template.first_minutes, ts)
        self._start_clients()

    def introduce(self, ts: int) -> GroupRound:
        """Make the group known with as few events as possible, all before ``ts``; it is idle then."""
        self._begin(self.template.introduction, ts - self.template.introduction.duration_ms)
        self._start_clients()
        events = [event for _ in self._segment.rounds for event in self._round()]
        self._start_idle(ts)
        return GroupRound(ts, self, events)

    @property
    def has_ended(self) -> bool:
        """Whether its last round was made."""
        last = self.template.disruptions.get(END)
        return last is not None and self._segment is last.segment and self._index == len(last.segment.rounds)

    def next_round(self) -> GroupRound:
        """The next round, also of the next segment."""
        if self._index == len(self._segment.rounds):
            self._next_segment()
        marker_ts = self._numbers[TS] + self._segment.marker_ms[self._index]
        return GroupRound(marker_ts, self, self._round())

    def _round(self) -> list[bytes]:
        names, numbers, events = self._names, self._numbers, []
        for event_template in self._segment.rounds[self._index]:
            numbers[SEQ] += 1
            events.append(event_template.fill(names, numbers))
        self._index += 1
        return events

    def _next_segment(self) -> None:
        """Begin the next segment: after an idle minute perhaps a disruption, after a disruption an idle minute."""
        template, ended, ts = self.template, self._segment, self._numbers[TS] + self._segment.duration_ms
        if ended is template.first_minutes:
            self._start_idle(ts)
            return
        self._end()
        disruption = self._next_disruption(self, ts) if ended in template.idle else None
        if disruption is not None:
            self._begin(disruption.segment, ts)
            return
        self._idle_minute = (self._idle_minute + 1) % len(template.idle)
        self._begin(template.idle[self._idle_minute], ts)

    def _start_idle(self, ts: int) -> None:
        """Begin an idle minute at ``idle_from``."""
        self._end()
        self._idle_minute, index = divmod(self._idle_from, self.template.rounds_a_minute)
        idle = self.template.idle[self._idle_minute]
        self._begin(idle, ts - index * idle.duration_ms // len(idle.rounds))
        self._index = index

    def _begin(self, segment: Segment, ts: int) -> None:
        self._segment, self._index = segment, 0
        self._numbers[TS] = ts

    def _end(self) -> None:
        for index, more in self._segment.increments:
            self._numbers[index] += more
        for index, ms in self._segment.restarts:
            self._numbers[index] = self._numbers[TS] + ms

    def _start_clients(self) -> None:
        for index, ms in self._ages:
            self._numbers[index] = self._numbers[TS] + ms
