"""A cache of allocations: clients with the same route and members compute the same shares, so one result serves all."""

from collections.abc import Mapping

from schemas.identity import MessageQueue
from streaming.core.allocation.strategy import AllocationError, Strategy
from streaming.core.allocation.together import allocate_all, sort_client_ids
from streaming.simulation.name_server import TopicRoute

Shares = Mapping[str, tuple[MessageQueue, ...]]


class AllocationCache:
    """Shares by strategy, route and list of members. Equal lists become one object: keys are object identities."""

    def __init__(self) -> None:
        self._shares: dict[tuple[int, int, int], Shares | AllocationError] = {}
        self._lists: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._alive: list[object] = []  # the objects of the keys: while they exist, no id() is used again

    def members(self, client_ids: tuple[str, ...]) -> tuple[str, ...]:
        """Return the sorted list; equal lists return one object."""
        found = self._lists.get(client_ids)
        if found is None:
            ordered = sort_client_ids(client_ids)
            found = self._lists[client_ids] = self._lists.setdefault(ordered, ordered)
        return found

    def shares(self, strategy: Strategy, route: TopicRoute, members: tuple[str, ...]) -> Shares:
        """Return the shares by client id. Raises AllocationError if the strategy throws."""
        key = (id(strategy), id(route), id(members))
        found = self._shares.get(key)
        if found is None:
            found = self._shares[key] = _shares(strategy, route, members)
            self._alive += (strategy, route, members)
        if isinstance(found, AllocationError):
            raise found
        return found


def _shares(strategy: Strategy, route: TopicRoute, members: tuple[str, ...]) -> Shares | AllocationError:
    try:
        allocation = allocate_all(strategy, route.subscribe_info, members)
    except AllocationError as error:
        return error
    # CONFIG may name a queue twice, and gives each client its queues of all topics
    shares = (tuple(q for q in dict.fromkeys(share) if q.topic == route.topic) for share in allocation.shares)
    return dict(zip(allocation.client_ids, shares, strict=True))
