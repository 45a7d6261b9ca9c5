"""MACHINE_ROOM: only the queues of the configured rooms are shared out."""

from collections.abc import Sequence
from typing import ClassVar

from streaming.core.allocation.strategy import Queues, Share, Strategy, check, null_pointer


class ByMachineRoom(Strategy, frozen=True):
    """``AllocateMessageQueueByMachineRoom``: brokers are named ``room@broker``; ``consumeridcs`` names rooms.

    Of the queues in these rooms each client gets an equal slice. The remainder, which is the end of the list, goes to
    the first clients, one queue each. So a share is not contiguous and differs from AVG. No client gets queues of other
    rooms. All clients get a share, whatever room they run in.

    None stands for Java's null: a NullPointerException as soon as one broker name has a room.
    """

    consumeridcs: frozenset[str] | None

    name: ClassVar[str] = "MACHINE_ROOM"

    def shares(self, queues: Queues, client_ids: Sequence[str]) -> list[Share]:
        check(client_ids[0], queues, client_ids)
        in_rooms = {name for name in {queue.broker_name for queue in queues} if self._counts(name)}
        counted = tuple(queue for queue in queues if queue.broker_name in in_rooms)
        clients = len(client_ids)
        return [_share(counted, position, clients) for position in range(clients)]

    def _counts(self, broker_name: str) -> bool:
        room = room_of(broker_name)
        if room is None:
            return False
        if self.consumeridcs is None:
            raise null_pointer("consumeridcs is null")
        return room in self.consumeridcs


def _share(counted: Share, position: int, clients: int) -> Share:
    size, left_over = divmod(len(counted), clients)
    share = counted[size * position : size * (position + 1)]
    return (*share, counted[size * clients + position]) if position < left_over else share


def room_of(broker_name: str) -> str | None:
    """The part before ``@`` of a name with exactly two parts.

    Java's ``split`` drops empty parts at the end, not at the start: ``r@a@@`` is of room ``r``, ``@a`` of room "",
    and ``r@``, ``r`` and ``r@a@b`` are of none.
    """
    parts = broker_name.rstrip("@").split("@")
    return parts[0] if len(parts) == 2 else None
