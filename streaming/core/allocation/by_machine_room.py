"""MACHINE_ROOM: only the queues of the configured rooms are shared out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schemas.identity import MessageQueue
from streaming.core.allocation.java import null_pointer
from streaming.core.allocation.strategy import check, position_of


@dataclass(frozen=True, slots=True)
class ByMachineRoom:
    """``AllocateMessageQueueByMachineRoom``: brokers are named ``room@broker``; ``consumeridcs`` names rooms.

    Of the queues in these rooms each client gets an equal slice. The remainder, which is the end of the list, goes to
    the first clients, one queue each. So a share is not contiguous and differs from AVG. No client gets queues of other
    rooms. All clients get a share, whatever room they run in.

    None stands for Java's null: a NullPointerException as soon as one broker name has a room.
    """

    consumeridcs: frozenset[str] | None

    name: ClassVar[str] = "MACHINE_ROOM"

    def allocate(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        position = position_of(client_id, queues, client_ids)
        if position is None:
            return ()
        return _share(self._queues_of_rooms(queues), position, len(client_ids))

    def shares(self, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[tuple[MessageQueue, ...]]:
        check(client_ids[0], queues, client_ids)
        counted = self._queues_of_rooms(queues)
        clients = len(client_ids)
        return [_share(counted, position, clients) for position in range(clients)]

    def _queues_of_rooms(self, queues: Sequence[MessageQueue]) -> tuple[MessageQueue, ...]:
        counted = {broker_name for broker_name in {queue.broker_name for queue in queues} if self._counts(broker_name)}
        return tuple(queue for queue in queues if queue.broker_name in counted)

    def _counts(self, broker_name: str) -> bool:
        room = room_of(broker_name)
        if room is None:
            return False
        if self.consumeridcs is None:
            raise null_pointer("consumeridcs is null")
        return room in self.consumeridcs


def _share(counted: tuple[MessageQueue, ...], position: int, clients: int) -> tuple[MessageQueue, ...]:
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
