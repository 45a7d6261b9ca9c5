"""CONFIG: each client gets the queues that its own configuration lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schemas.identity import MessageQueue


@dataclass(frozen=True, slots=True)
class ByConfig:
    """``AllocateMessageQueueByConfig``: returns the configured list, whatever clients and queues there are.

    RocketMQ does not check the list: it may name queues of other topics, queues that do not exist, and a queue twice.
    None stands for Java's null, which the client takes as an empty list.
    """

    message_queue_list: tuple[MessageQueue, ...] | None

    name: ClassVar[str] = "CONFIG"

    def allocate(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        return self.message_queue_list or ()

    def shares(self, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[tuple[MessageQueue, ...]]:
        return [self.message_queue_list or ()] * len(client_ids)
