"""What all strategies share: the interface, the check that they begin with, and Java's errors."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from schemas.identity import MessageQueue

ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NULL_POINTER = "java.lang.NullPointerException"

Queues = Sequence[MessageQueue]
Share = tuple[MessageQueue, ...]


class AllocationError(Exception):
    """The exception that the Java class throws; the client logs it and keeps its old allocation.

    The message of a NullPointerException depends on the JVM: compare its class only.
    """

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(java_class, message)
        self.java_class = java_class
        self.message = message

    def __str__(self) -> str:
        return f"{self.java_class}: {self.message}"


class Strategy(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """``AllocateMessageQueueStrategy``. Its fields are what the Java object was built with, as the vectors name it.

    ``name`` is RocketMQ's ``getName()``. Both lists come sorted as RocketMQ sorts them before it asks.
    """

    name: ClassVar[str]

    def shares(self, queues: Queues, client_ids: Sequence[str]) -> list[Share]:
        """``allocate`` for the client at each position of a list of at least one id, in one pass.

        It holds for the first position of an id that is listed twice; ``allocate_all`` copies it to the others.
        Raises AllocationError if Java throws for any of the clients.
        """
        raise NotImplementedError

    def allocate(self, client_id: str, queues: Queues, client_ids: Sequence[str]) -> Share:
        """The share that this client computes for itself, in the order in which the Java class lists it."""
        check(client_id, queues, client_ids)
        return self.shares(queues, client_ids)[client_ids.index(client_id)] if client_id in client_ids else ()


def check(client_id: str, queues: Queues, client_ids: Sequence[str]) -> None:
    """``AbstractAllocateMessageQueueStrategy.check``, in its order."""
    if not client_id:
        raise illegal_argument("currentCID is empty")
    if not queues:
        raise illegal_argument("mqAll is null or mqAll empty")
    if not client_ids:
        raise illegal_argument("cidAll is null or cidAll empty")


def illegal_argument(message: str) -> AllocationError:
    return AllocationError(ILLEGAL_ARGUMENT, message)


def null_pointer(message: str) -> AllocationError:
    return AllocationError(NULL_POINTER, message)


def queue_text(queue: MessageQueue) -> str:
    """``MessageQueue.toString()``: what consistent hashing hashes, and what stands in messages."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"
