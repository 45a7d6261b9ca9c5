"""CONFIG: each client gets the queues that its own configuration lists."""

from collections.abc import Sequence
from typing import ClassVar

from streaming.core.allocation.strategy import Queues, Share, Strategy


class ByConfig(Strategy, frozen=True):
    """``AllocateMessageQueueByConfig``: returns the configured list, whatever clients and queues there are.

    RocketMQ does not check the list: it may name queues of other topics, queues that do not exist, and a queue twice.
    None stands for Java's null, which the client takes as an empty list.
    """

    message_queue_list: Share | None

    name: ClassVar[str] = "CONFIG"

    def shares(self, queues: Queues, client_ids: Sequence[str]) -> list[Share]:
        return [self.message_queue_list or ()] * len(client_ids)

    def allocate(self, client_id: str, queues: Queues, client_ids: Sequence[str]) -> Share:
        return self.message_queue_list or ()
