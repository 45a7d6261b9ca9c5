"""The change of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from streaming.errors import SourceError
from streaming.simulation.planning.current_group import CurrentGroup, rates_by_topic

MOST_CLIENTS, MOST_QUEUES = 2_000, 16_384
MOST_MESSAGES_PER_S = 1e9
SETTLED_S, WATCHED_S = 120, 150  # before the change, and after the last step of it
STEP_S = 25  # between the steps of a rolling restart
# Each client looks at all clients and queues again and again. So much takes a minute at most, in each of 30 trials.
MOST_WORK = 1.5e9
LOOKS_OF_ITS_OWN = 10  # what a client or queue costs by itself, in looks of one client at it


class Change(Struct, frozen=True, kw_only=True):
    """A change. ``queues``: topic -> queues on each broker. ``rolling``: how many clients restart at a time; 0: none.

    ``lose_room``: the text before ``-`` or ``@`` in the names of brokers and ids of clients that are lost.
    ``strategy``: the strategy of all clients afterwards. ``pop_share``: what ``popShareQueueNum`` becomes, of a group
    that pops.
    """

    join: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    rolling: int = 0
    queues: dict[str, int] = {}
    lose_room: str | None = None
    strategy: str | None = None
    pop_share: int | None = None

    @property
    def at_a_time(self) -> int:
        """The number of clients that restart at the same time; 0: none."""
        return self.rolling or (1 if self.strategy is not None else 0)

    @property
    def is_empty(self) -> bool:
        changes = (self.join, self.leave, self.rolling, self.queues, self.lose_room, self.strategy)
        return not any(changes) and self.pop_share is None

    def __str__(self) -> str:
        """The change in words, for a title."""
        parts = [f"{len(self.join)} more clients" if len(self.join) > 1 else "one more client"] if self.join else []
        parts += [f"without {', '.join(self.leave)}"] if self.leave else []
        parts += [f"{topic} with {count} queues on each broker" for topic, count in self.queues.items()]
        parts += [f"without room {self.lose_room}"] if self.lose_room else []
        parts += [f"restarted with {self.strategy}"] if self.strategy else []
        parts += [f"restarted {self.rolling} at a time"] if self.rolling else []
        parts += [f"popShareQueueNum {self.pop_share}"] if self.pop_share is not None else []
        return ", ".join(parts)


def room_of(name: str) -> str:
    """The room that a broker's name or a client id begins with."""
    return name.replace("@", "-").partition("-")[0]


def checked(change: Change, current: CurrentGroup) -> Change:
    """The change, if the group allows it. Raises SourceError, which names what exists."""
    if change.is_empty:
        raise SourceError("nothing to plan: name a change, as --join 2, --leave ID, --queues TOPIC=16 or --rolling 1")
    unknown = sorted(set(change.leave) - set(current.client_ids))
    if unknown:
        raise SourceError(f"--leave {unknown[0]}: not in the group; there are {', '.join(current.client_ids)}")
    topics = {queue.topic for queue in current.shared()}
    if missing := sorted(set(change.queues) - topics):
        raise SourceError(f"--queues {missing[0]}: the group has {', '.join(sorted(topics))}")
    if not members_after(change, current):
        raise SourceError("nobody would be left: then there is nothing to share out")
    if not brokers_after(change, current):
        raise SourceError(f"--lose-room {change.lose_room}: no broker would be left")
    _check_size(change, current)
    return change


def _check_size(change: Change, current: CurrentGroup) -> None:
    """Raise SourceError for a change whose trial would take hours."""
    clients, queues, seconds = size_of(change, current)
    if clients > MOST_CLIENTS:
        raise SourceError(f"{clients} clients: a plan is made for {MOST_CLIENTS} at most")
    if queues > MOST_QUEUES:
        raise SourceError(f"{queues} queues: a plan is made for {MOST_QUEUES} at most")
    rate = sum(rates_by_topic(current.shared()).values())
    if not rate <= MOST_MESSAGES_PER_S:
        raise SourceError(f"{rate:g} messages a second: a plan is made for {MOST_MESSAGES_PER_S:g} at most")
    if work_of(change, current) > MOST_WORK:
        at_a_time = ", or restart more clients at a time (--rolling)" if change.at_a_time else ""
        raise SourceError(
            f"{clients} clients and {queues} queues for {seconds} s, in 30 trials: that takes too long; plan for a "
            f"smaller group of the same shape{at_a_time}"
        )


class Size(NamedTuple):
    """The size of what one trial simulates."""

    clients: int
    queues: int
    seconds: int


def size_of(change: Change, current: CurrentGroup) -> Size:
    clients = max(len(current.members), len(members_after(change, current)))
    queues = max(_queues_in(current, {}), _queues_in(current, change.queues))
    return Size(clients, queues, SETTLED_S + roll_s(change, clients) + WATCHED_S)


def work_of(change: Change, current: CurrentGroup) -> int:
    """The cost of a trial, in looks of one client at another or at a queue."""
    clients, queues, seconds = size_of(change, current)
    return seconds * (clients + LOOKS_OF_ITS_OWN) * (clients + queues)


def _queues_in(current: CurrentGroup, changed: Mapping[str, int]) -> int:
    """The simulated queues: a broker has all queues up to the largest id."""
    numbers: dict[tuple[str, str], int] = {}
    for topic, broker, queue_id in (queue.name for queue in current.shared()):
        numbers[topic, broker] = max(numbers.get((topic, broker), 0), changed.get(topic, queue_id + 1))
    return sum(numbers.values())


def roll_s(change: Change, clients: int) -> int:
    """The seconds until this number of clients is restarted."""
    return -(-clients // change.at_a_time) * STEP_S if change.at_a_time else 0


def members_after(change: Change, current: CurrentGroup) -> tuple[str, ...]:
    gone = {one for one in current.client_ids if change.lose_room is not None and room_of(one) == change.lose_room}
    return tuple(one for one in current.client_ids if one not in gone and one not in change.leave) + change.join


def brokers_after(change: Change, current: CurrentGroup) -> tuple[str, ...]:
    names = dict.fromkeys(queue.broker_name for queue in current.shared())
    return tuple(name for name in names if change.lose_room is None or room_of(name) != change.lose_room)


def new_ids(count: int, current: CurrentGroup) -> tuple[str, ...]:
    """Ids for clients that join. Their order among the others is not known, so they are spread evenly."""
    known = sorted(current.client_ids)
    return tuple(f"{known[index * len(known) // count]}-new{index + 1}" for index in range(count))
