"""How many connections under one client id are alive, by the times of their last heartbeats.

A client sends a heartbeat over its connection every 30 s. A connection that is dead, and that a broker lists for up to
130 s, sends none. The times are of the broker's clock, and only compared with one another.
"""

from collections import Counter
from collections.abc import Iterable

from streaming.collector.translation.answers import ChannelHeartbeat


def listed_twice(client_ids: Iterable[str]) -> frozenset[str]:
    """Which ids one broker's list names more than once: once for each connection."""
    return frozenset(client_id for client_id, entries in Counter(client_ids).items() if entries > 1)


class AliveChannels:
    """On one broker. What counts are heartbeats after the first answer that has all of the id's connections."""

    def __init__(self) -> None:
        self._first: dict[str, dict[str, int]] = {}  # client id -> address -> its last heartbeat in that answer
        self._alive: dict[str, int] = {}

    def take(self, channels: Iterable[ChannelHeartbeat]) -> None:
        now: dict[str, dict[str, int]] = {}
        for one in channels:
            now.setdefault(one.client_id, {})[one.address] = one.heartbeat_ts
        for client_id, heartbeats in now.items():
            first = self._first.get(client_id, {})
            if first.keys() == heartbeats.keys():
                alive = sum(ts > first[address] for address, ts in heartbeats.items())
                self._alive[client_id] = max(alive, self._alive.get(client_id, 0))
            else:
                self._first[client_id] = heartbeats
                self._alive.pop(client_id, None)

    def of(self, client_id: str, addresses: Iterable[str]) -> int | None:
        """Of these connections; None: not known."""
        is_same = self._first.get(client_id, {}).keys() == set(addresses)
        return self._alive.get(client_id) if is_same else None

    def keep_only(self, client_ids: Iterable[str]) -> None:
        """Those whose ids are listed twice."""
        kept = set(client_ids)
        self._first = {client_id: those for client_id, those in self._first.items() if client_id in kept}
        self._alive = {client_id: number for client_id, number in self._alive.items() if client_id in kept}
