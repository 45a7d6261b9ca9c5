"""The shares of all members of a group, computed in one pass, and the order in which clients sort queues and ids.

Python compares code points, Java UTF-16 code units; on ASCII both agree, and the plain sort is several times cheaper.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from schemas.identity import MessageQueue, java_order, queue_order
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


def sort_queues(queues: Iterable[MessageQueue]) -> tuple[MessageQueue, ...]:
    """As ``Collections.sort`` on message queues: topic, broker name, queue id."""
    listed = list(queues)
    if not listed:
        return ()
    topics, broker_names, _ = zip(*listed, strict=True)
    plain = _are_ascii(topics) and _are_ascii(broker_names)
    return tuple(sorted(listed) if plain else sorted(listed, key=queue_order))


def sort_client_ids(client_ids: Iterable[str]) -> tuple[str, ...]:
    """As ``Collections.sort`` on strings. An id that is listed twice stays listed twice."""
    listed = list(client_ids)
    return tuple(sorted(listed) if _are_ascii(listed) else sorted(listed, key=java_order))


def _are_ascii(texts: Collection[str]) -> bool:
    return "".join(texts).isascii()
