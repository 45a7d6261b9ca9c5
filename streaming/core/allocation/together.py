"""What all members of a group compute, in one pass: the form in which the monitor asks."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.identity import MessageQueue
from streaming.core.allocation.order import sort_client_ids, sort_queues
from streaming.core.allocation.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Allocation:
    """The sorted member list and, position by position, what the client there computes for itself."""

    client_ids: tuple[str, ...]
    shares: tuple[tuple[MessageQueue, ...], ...]


def allocate_all(strategy: Strategy, queues: Iterable[MessageQueue], client_ids: Iterable[str]) -> Allocation:
    """Sort as every client does, then ask the strategy once for all of them.

    Two clients with one id both see themselves at its first position, so both get that share, and no client
    gets that of the second position. Without members the allocation is empty, even where a strategy would throw. Raises
    AllocationError if the strategy throws for any client.
    """
    members = sort_client_ids(client_ids)
    if not members:
        return Allocation((), ())
    shares = strategy.shares(sort_queues(queues), members)
    for position in range(1, len(members)):
        if members[position] == members[position - 1]:
            shares[position] = shares[position - 1]
    return Allocation(members, tuple(shares))
