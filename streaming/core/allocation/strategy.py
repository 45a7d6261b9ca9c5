"""The interface of a strategy, and the check that all of them but CONFIG begin with."""

from collections.abc import Sequence
from typing import Protocol

from schemas.identity import MessageQueue
from streaming.core.allocation.java import illegal_argument


class Strategy(Protocol):
    """``AllocateMessageQueueStrategy``. Both lists come sorted as RocketMQ sorts them before it asks."""

    @property
    def name(self) -> str:
        """RocketMQ's ``getName()``."""

    def allocate(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        """The share that this client computes for itself, in the order in which the Java class lists it."""

    def shares(self, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[tuple[MessageQueue, ...]]:
        """``allocate`` for the client at each position of a list of at least one id, in one pass.

        It holds for the first position of an id that is listed twice; ``allocate_all`` copies it to the others.
        Raises AllocationError if Java throws for any of the clients.
        """


def check(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> None:
    """``AbstractAllocateMessageQueueStrategy.check``, in its order."""
    if not client_id:
        raise illegal_argument("currentCID is empty")
    if not queues:
        raise illegal_argument("mqAll is null or mqAll empty")
    if not client_ids:
        raise illegal_argument("cidAll is null or cidAll empty")


def position_of(client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> int | None:
    """The client's position after the check: its first occurrence, or None if it is not listed (no queues then)."""
    check(client_id, queues, client_ids)
    return client_ids.index(client_id) if client_id in client_ids else None
