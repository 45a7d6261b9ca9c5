"""How many connections under one client id are alive, by the times of their last heartbeats.

A client sends a heartbeat over its connection every 30 s. A connection that is dead, and that a broker lists for up to
130 s, sends none. The times of heartbeats are of the broker's clock, and only compared with one another.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from streaming.collector.wire.answers import ChannelHeartbeat

HEARTBEAT_MS = 31_000  # MQClientInstance sends heartbeats every 30 s (heartbeatBrokerInterval)


def listed_twice(client_ids: Iterable[str]) -> frozenset[str]:
    """Which ids one broker's list names more than once: once for each connection."""
    ids = tuple(client_ids)
    if len(set(ids)) == len(ids):
        return frozenset()
    return frozenset(client_id for client_id, entries in Counter(ids).items() if entries > 1)


class _Answer(NamedTuple):
    ts: int  # when the broker answered, by the collector's clock
    heartbeats: dict[str, int]  # address -> its last heartbeat


class AliveChannels:
    """On one broker. What counts are heartbeats after the first answer that has all of the id's connections.

    A connection is alive if it has sent one since the newest answer that is ``HEARTBEAT_MS`` old. Until there is such
    an answer, one at any time is enough.
    """

    def __init__(self) -> None:
        self._answers: dict[str, list[_Answer]] = {}  # by client id: the newest, and back to one that is old enough
        self._alive: dict[str, int] = {}

    def take(self, channels: Iterable[ChannelHeartbeat], ts: int) -> None:
        now: dict[str, dict[str, int]] = {}
        for one in channels:
            now.setdefault(one.client_id, {})[one.address] = one.heartbeat_ts
        for client_id, heartbeats in now.items():
            self._take(client_id, _Answer(ts, heartbeats))

    def _take(self, client_id: str, new: _Answer) -> None:
        known = self._answers.get(client_id, [])
        if not known or known[0].heartbeats.keys() != new.heartbeats.keys():
            self._answers[client_id] = [new]
            self._alive.pop(client_id, None)
            return
        recent = list(takewhile(lambda one: new.ts - one.ts < HEARTBEAT_MS, known))
        kept = known[: len(recent) + 1]
        alive = sum(ts > kept[-1].heartbeats[address] for address, ts in new.heartbeats.items())
        is_short = len(recent) == len(known)  # a client that runs may have sent none in so short a time
        self._alive[client_id] = max(alive, self._alive.get(client_id, 0)) if is_short else alive
        self._answers[client_id] = [new, *kept]

    def of(self, client_id: str, addresses: Iterable[str]) -> int | None:
        """Returns how many of these connections are alive; None: not known."""
        known = self._answers.get(client_id)
        is_same = known is not None and known[0].heartbeats.keys() == set(addresses)
        return self._alive.get(client_id) if is_same else None

    def keep_only(self, client_ids: Iterable[str]) -> None:
        """Those whose ids are listed twice."""
        kept = set(client_ids)
        self._answers = {client_id: those for client_id, those in self._answers.items() if client_id in kept}
        self._alive = {client_id: number for client_id, number in self._alive.items() if client_id in kept}
