"""What a collector has been told by one broker, and what of it is news."""

from collections import Counter, deque
from collections.abc import Iterable

from schemas.identity import is_retry_topic

HEARTBEAT_AGAIN_MS = 30_000
TURNS_WITHIN_MS = 120_000

Topics = tuple[str, ...]


class BrokerView:
    """One broker's members of the group, from list to list."""

    __slots__ = ("_addresses", "_is_other", "_listed_since", "_subscribed", "_told", "ids")

    def __init__(self) -> None:
        self.ids: tuple[str, ...] | None = None
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._told: dict[str, tuple[tuple[str, ...], int]] = {}
        self._subscribed: deque[tuple[int, Topics]] = deque()
        self._is_other = False
        self._listed_since = 0

    def take_list(self, ids: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Ids that appeared and that disappeared; the first list only says where we start."""
        before, self.ids = self.ids, ids
        if before is None or before is ids or before == ids:
            return [], []
        self._told = {client_id: told for client_id, told in self._told.items() if client_id in set(ids)}
        then, now = Counter(before), Counter(ids)
        if then != now:
            self._subscribed.clear()
            self._is_other = True
        return sorted((now - then).elements()), sorted((then - now).elements())

    def listed_since(self, marker_ts: int) -> int:
        """The marker that first told the list as it is, which may be this one; 0: it has been so from the start."""
        if self._is_other:
            self._is_other, self._listed_since = False, marker_ts
        return self._listed_since

    def take_connections(self, addresses: dict[str, tuple[str, ...]], subscribed: Topics, ts: int) -> None:
        self._addresses = addresses
        if not self._subscribed or self._subscribed[-1][1] != subscribed:
            self._subscribed.append((ts, subscribed))
        while len(self._subscribed) > 1 and self._subscribed[1][0] < ts - TURNS_WITHIN_MS:
            self._subscribed.popleft()

    def rival_subscriptions(self) -> set[Topics]:
        """Sets of topics that took turns."""
        sets = [topics for _, topics in self._subscribed]
        return set(sets) if len(set(sets)) < len(sets) else set()

    def due(self, ts: int) -> list[tuple[str, tuple[str, ...]]]:
        """Clients of which to tell now, with their addresses: new, changed, or told 30 s ago."""
        found = []
        for client_id in dict.fromkeys(self.ids or ()):
            addresses = self._addresses.get(client_id, ())
            told = self._told.get(client_id)
            if told is None or told[0] != addresses or ts - told[1] >= HEARTBEAT_AGAIN_MS:
                self._told[client_id] = (addresses, ts)
                found.append((client_id, addresses))
        return found


def visible(subscriptions: Iterable[str]) -> Topics:
    """The set of topics as connections show it, without the retry topic."""
    return tuple(sorted(topic for topic in subscriptions if not is_retry_topic(topic)))
