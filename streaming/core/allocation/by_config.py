"""CONFIG: the client was given its queues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schemas.identity import MessageQueue


@dataclass(frozen=True, slots=True)
class ByConfig:
    """``AllocateMessageQueueByConfig``: returns its list as it is, whoever asks and whatever exists.

    There is no check: the list may name queues of other topics or of no topic, and one of them twice. None stands for
    Java's null, which the client takes as an empty list.
    """

    message_queue_list: tuple[MessageQueue, ...] | None

    name: ClassVar[str] = "CONFIG"

    def allocate(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        return self.message_queue_list or ()

    def shares(self, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[tuple[MessageQueue, ...]]:
        return [self.message_queue_list or ()] * len(client_ids)
