"""When a broker that lists an id twice is asked which of its connections send heartbeats."""

from collections.abc import Iterable, Mapping

from streaming.collector.translation.alive_channels import HEARTBEAT_MS, listed_twice

TRIES_AT_MOST = 6  # a dead connection is dropped after 130 s


class HeartbeatSchedule:
    """When a broker is asked which connections of a client id that it lists twice have sent heartbeats.

    At once, and again when each client must have sent another heartbeat: until that is settled. It belongs to one group
    and always chooses the same broker, as long as that one lists an id twice.
    """

    def __init__(self) -> None:
        self._twice: dict[str, frozenset[str]] = {}  # by broker, where there are some
        self._broker = ""
        self._asked_ts = 0
        self._tries = 0
        self._alive: frozenset[str] = frozenset()

    def listed(self, lists: Mapping[str, Iterable[str]]) -> None:
        """The members that brokers list, by broker, of those that answer."""
        before = self._twice.get(self._broker)
        self._twice |= {broker: listed_twice(client_ids) for broker, client_ids in lists.items()}
        self._twice = {broker: client_ids for broker, client_ids in self._twice.items() if client_ids}
        if self._twice.get(self._broker) != before or self._broker not in self._twice:
            self._broker, self._tries = min(self._twice, default=""), 0

    def due(self, now: int) -> tuple[str, frozenset[str]] | None:
        """The broker to ask, and the ids that it lists twice."""
        is_due = not self._tries or (self._tries < TRIES_AT_MOST and now - self._asked_ts >= HEARTBEAT_MS)
        if not self._broker or not is_due:
            return None
        self._asked_ts = now
        self._tries += 1
        return self._broker, self._twice[self._broker]

    def answered(self, alive: frozenset[str]) -> None:
        """Under which of the ids two connections are alive. If that changes, it is asked as often again.

        So a connection that has stopped is either dropped meanwhile, or seen to go on.
        """
        if alive != self._alive:
            self._alive, self._tries = alive, 1
