"""The owners of queues before and after a change, and how many queues had to move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategy import AllocationError, Strategy
from streaming.core.allocation.together import allocate_all
from streaming.simulation.planning.change import room_of
from streaming.simulation.planning.current_group import CurrentGroup
from streaming.wording.lists import grouped

Owners = Mapping[MessageQueue, str]
STRATEGY_NAMES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY")


class NotApplicable(Exception):
    """The reason why a strategy does not apply to the group."""


class Balance(NamedTuple):
    """The moves of a change. ``fewest``: how many queues had to move, given how many each client has in the end."""

    moved: int
    fewest: int
    most: int
    least: int
    idle: int
    unowned: int


def strategies_of(name: str, current: CurrentGroup, ids: Iterable[str]) -> dict[str, Strategy]:
    """The strategy of each client. With CONFIG each keeps the queues that it has now."""
    brokers = {queue.broker_name for queue in current.shared()}
    if name == "CONFIG":
        owners = current.owners()
        return {one: ByConfig(tuple(queue for queue, owner in owners.items() if owner == one)) for one in ids}
    if name == "MACHINE_ROOM":
        if not all(broker.count("@") == 1 for broker in brokers):
            raise NotApplicable("brokers are not named room@broker")
        strategy: Strategy = ByMachineRoom(frozenset(map(room_of, brokers)))
    elif name == "MACHINE_ROOM_NEARBY":
        if not {room_of(broker) for broker in brokers} & {room_of(one) for one in current.client_ids}:
            raise NotApplicable("no client's id begins with a broker's room")
        rooms = {one: room_of(one) for one in (*brokers, *current.client_ids, *ids)}
        strategy = MachineRoomNearby(Averagely(), rooms, rooms)
    else:
        strategy = next(one for one in (Averagely(), AveragelyByCircle(), ConsistentHash()) if one.name == name)
    return dict.fromkeys(ids, strategy)


def allocate_topics(by_client: Mapping[str, Strategy], queues: Iterable[MessageQueue]) -> dict[MessageQueue, str]:
    """The shares of all topics, computed topic by topic, as clients do. Raises NotApplicable if the strategy throws."""
    owners: dict[MessageQueue, str] = {}
    for topic, of_topic in grouped(queues, lambda queue: queue.topic).items():
        for strategy in {id(one): one for one in by_client.values()}.values():
            try:
                allocation = allocate_all(strategy, of_topic, by_client)
            except AllocationError as error:
                raise NotApplicable(f"{error.java_class}: {error.message}") from None
            for client_id, share in zip(allocation.client_ids, allocation.shares, strict=True):
                if by_client[client_id] is strategy:
                    owners |= {queue: client_id for queue in share if queue.topic == topic}
    return owners


def balance(before: Owners, after: Owners, queues: Iterable[MessageQueue], members: Iterable[str]) -> Balance:
    """The queues that moved, of those that exist before and after, and how even the shares are."""
    queues, members = list(queues), list(members)
    counts = Counter(dict.fromkeys(members, 0))
    counts.update(owner for queue in queues if (owner := after.get(queue)) is not None)
    stayed = [queue for queue in queues if queue in before]
    moved = sum(after.get(queue) != before[queue] for queue in stayed)
    return Balance(
        moved=moved,
        fewest=_fewest(Counter(before[queue] for queue in stayed), counts),
        most=max(counts.values()),
        least=min(counts.values()),
        idle=sum(not count for count in counts.values()),
        unowned=sum(queue not in after for queue in queues),
    )


def _fewest(held: Counter[str], expected: Counter[str]) -> int:
    """The fewest moves. Clients are interchangeable: the client with most queues gets the largest share."""
    staying = sorted((held[one] for one in expected), reverse=True)
    kept = sum(map(min, staying, sorted(expected.values(), reverse=True)))
    return sum(held.values()) - kept
