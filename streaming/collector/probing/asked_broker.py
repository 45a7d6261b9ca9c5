"""Which broker is asked: through it a client, or for the heartbeats of ids that it lists twice."""

from collections.abc import Iterable, Mapping
from zlib import crc32

from streaming.collector.translation.alive_channels import HEARTBEAT_MS, listed_twice

TRIES_AT_MOST = 6  # a dead connection is dropped after 130 s
NO_ANSWER = -1


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


class AskedThrough:
    """Belongs to one group. A client always gets the same broker, each client another: so the load is shared out.

    An id that is listed twice is asked through another broker each time until two instances have answered, and then
    each of them in turn. A broker forwards requests to one of the two connections, always the same one
    (ConsumerGroupInfo.findChannel), and another broker may know the other instance. A connection may also be dead: a
    broker through which no answer came is used only if there is no other.
    """

    def __init__(self) -> None:
        self._reached: dict[str, dict[str, int]] = {}  # id listed twice -> broker -> start time of who answered last
        self._turns: dict[str, dict[int, int]] = {}  # id listed twice -> start time -> when it answered, as a number

    def next(self, client_id: str, lists: Mapping[str, tuple[str, ...]]) -> str | None:
        """The broker to ask through now, of those that list it. None: none does."""
        if not any(ids.count(client_id) > 1 for ids in lists.values()):
            self._reached.pop(client_id, None)
            self._turns.pop(client_id, None)
            return broker_of(client_id, lists)
        brokers, reached = _listing(client_id, lists), self._reached.setdefault(client_id, {})
        untried = [broker for broker in brokers if broker not in reached]
        if untried and len({*reached.values()} - {NO_ANSWER}) < 2:
            return untried[0]
        turns = self._turns.get(client_id, {})
        answering = [broker for broker in brokers if reached.get(broker, NO_ANSWER) != NO_ANSWER] or brokers
        return min(answering, key=lambda broker: turns.get(reached.get(broker, NO_ANSWER), 0))

    def answered(self, client_id: str, broker: str, start_ts: int = NO_ANSWER) -> None:
        """The start time of the instance that answered through the broker."""
        if client_id in self._reached:
            self._reached[client_id][broker] = start_ts
            turns = self._turns.setdefault(client_id, {})
            turns[start_ts] = max(turns.values(), default=0) + 1


def broker_of(client_id: str, lists: Mapping[str, tuple[str, ...]]) -> str | None:
    """Through which a client is asked whose id is listed once. ``lists``: the members by the name of the broker."""
    return next(iter(_listing(client_id, lists)), None)


def _listing(client_id: str, lists: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The brokers that list the client; each client has another one first."""
    brokers = sorted(broker for broker, ids in lists.items() if client_id in ids)
    first = crc32(client_id.encode()) % max(1, len(brokers))
    return brokers[first:] + brokers[:first]
