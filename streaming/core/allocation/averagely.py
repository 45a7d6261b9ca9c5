"""AVG and AVG_BY_CIRCLE: all clients get equally many queues, contiguous slices of them or one queue in turn."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from streaming.core.allocation.strategy import Queues, Share, Strategy, check


class Averagely(Strategy, frozen=True):
    """``AllocateMessageQueueAveragely``, RocketMQ's default.

    Each client gets one slice of the list of queues. If the queues do not divide evenly, the first clients get one
    more. With more clients than queues the last clients get none.
    """

    name: ClassVar[str] = "AVG"

    def shares(self, queues: Queues, client_ids: Sequence[str]) -> list[Share]:
        check(client_ids[0], queues, client_ids)
        size, larger = divmod(len(queues), len(client_ids))
        cuts = [position * size + min(position, larger) for position in range(len(client_ids) + 1)]
        return [tuple(queues[start:end]) for start, end in pairwise(cuts)]


class AveragelyByCircle(Strategy, frozen=True):
    """``AllocateMessageQueueAveragelyByCircle``: of ``k`` clients, the one at position ``i`` gets queues i, i+k, ..."""

    name: ClassVar[str] = "AVG_BY_CIRCLE"

    def shares(self, queues: Queues, client_ids: Sequence[str]) -> list[Share]:
        check(client_ids[0], queues, client_ids)
        clients = len(client_ids)
        return [tuple(queues[position::clients]) for position in range(clients)]
