"""Queues of a group that consume stats (208) do not name: a broker names those below ``readQueueNums`` only.

Messages may wait there all the same: producers write to ``writeQueueNums`` queues, and what was written to queues that
the route has lost stays in them (``AdminBrokerProcessor.getConsumeStats``, ``TopicConfigManager.updateTopicConfig``).
So the end of such a queue (30) and the group's offset in it (14) are asked for one by one. Pure.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS
from streaming.collector.translation.routes import KnownRoute
from streaming.collector.wire.answers import OffsetRow

ASKED_AT_ONCE = 32  # queues of a group on one broker, each time that its offsets are due there

Place = tuple[str, str]  # broker name, topic


class Hosted(NamedTuple):
    """How many queues of a topic a broker has to read, and to read or write."""

    read: int
    all: int


class QueuesBeyondRead:
    """Belongs to one group. Queues that left the route are asked for as long as a broker that left it."""

    def __init__(self) -> None:
        self._hosted: dict[Place, Hosted] = {}
        self._had: dict[Place, dict[int, int]] = {}  # numbers of queues, and when the route had so many last
        self._asked_ts: dict[Place, dict[int, int]] = {}  # queue id -> when it was asked last
        self._rows: dict[Place, dict[int, OffsetRow]] = {}

    def routed(self, routes: Mapping[str, KnownRoute], now: int) -> None:
        """The routes of the group's topics as they are now. Queues of static topics are mapped to others."""
        self._hosted = {place: hosted for place, hosted in self._hosted.items() if place[1] not in routes} | {
            (broker, topic): Hosted(read, most)
            for topic, route in routes.items()
            if not route.static
            for broker, (read, most) in route.queue_nums().items()
        }
        for place, hosted in self._hosted.items():
            self._had.setdefault(place, {})[hosted.all] = now
        for place in list(self._had):
            self._had[place] = {n: ts for n, ts in self._had[place].items() if now - ts <= KEEP_WATCHING_MS}
            if not self._had[place]:
                for known in (self._had, self._asked_ts, self._rows):
                    known.pop(place, None)

    def due(self, broker: str, named: Iterable[OffsetRow], now: int) -> list[tuple[str, int]]:
        """(topic, queue id) to be asked now, of those that the broker has not just ``named``: in turn, if many."""
        given = {(row.topic, row.queue_id) for row in named}
        beyond: list[tuple[int, str, int]] = []
        for place in sorted(place for place in self._had if place[0] == broker):
            topic, asked = place[1], self._asked_ts.get(place, {})
            ids = [i for i in self._beyond_read(place) if (topic, i) not in given]
            self._asked_ts[place] = {i: asked.get(i, 0) for i in ids}
            self._rows[place] = {i: row for i, row in self._rows.get(place, {}).items() if i in self._asked_ts[place]}
            beyond += [(asked.get(i, 0), topic, i) for i in ids]
        chosen = sorted(beyond)[:ASKED_AT_ONCE]
        for _, topic, queue_id in chosen:
            self._asked_ts[broker, topic][queue_id] = now
        return [(topic, queue_id) for _, topic, queue_id in chosen]

    def _beyond_read(self, place: Place) -> range:
        hosted = self._hosted.get(place, Hosted(0, 0))
        return range(hosted.read, max(self._had[place]))

    def number_on(self, broker: str) -> int:
        """How many are asked each time that the group's offsets are due on the broker."""
        return min(ASKED_AT_ONCE, sum(len(asked) for place, asked in self._asked_ts.items() if place[0] == broker))

    def answered(self, broker: str, rows: Iterable[OffsetRow]) -> None:
        for row in rows:
            self._rows.setdefault((broker, row.topic), {})[row.queue_id] = row

    def known(self, broker: str) -> list[OffsetRow]:
        """The newest offsets of each of these queues on the broker."""
        return [row for (name, _), rows in self._rows.items() if name == broker for row in rows.values()]
