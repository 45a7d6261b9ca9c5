"""AVG_BY_CIRCLE: each client in turn gets one queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schemas.identity import MessageQueue
from streaming.core.allocation.strategy import check, position_of


@dataclass(frozen=True, slots=True)
class AveragelyByCircle:
    """``AllocateMessageQueueAveragelyByCircle``: of ``k`` clients, the one at position ``i`` gets queues i, i+k, ..."""

    name: ClassVar[str] = "AVG_BY_CIRCLE"

    def allocate(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        position = position_of(client_id, queues, client_ids)
        return () if position is None else tuple(queues[position :: len(client_ids)])

    def shares(self, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[tuple[MessageQueue, ...]]:
        check(client_ids[0], queues, client_ids)
        clients = len(client_ids)
        return [tuple(queues[position::clients]) for position in range(clients)]
