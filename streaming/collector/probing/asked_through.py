"""Through which broker a client is asked."""

from collections.abc import Mapping
from zlib import crc32

NO_ANSWER = -1


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
