"""AVG: contiguous slices of equal size."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from schemas.identity import MessageQueue
from streaming.core.allocation.strategy import check, position_of


@dataclass(frozen=True, slots=True)
class Averagely:
    """``AllocateMessageQueueAveragely``, RocketMQ's default.

    Each client gets one slice of the list of queues. If the queues do not divide evenly, the first clients get one
    more. With more clients than queues the last clients get none.
    """

    name: ClassVar[str] = "AVG"

    def allocate(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        position = position_of(client_id, queues, client_ids)
        if position is None:
            return ()
        size, larger = divmod(len(queues), len(client_ids))
        start = position * size + min(position, larger)
        return tuple(queues[start : start + size + (position < larger)])

    def shares(self, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[tuple[MessageQueue, ...]]:
        check(client_ids[0], queues, client_ids)
        size, larger = divmod(len(queues), len(client_ids))
        cuts = [position * size + min(position, larger) for position in range(len(client_ids) + 1)]
        return [tuple(queues[start:end]) for start, end in pairwise(cuts)]
