"""Java's own forms: queues as text, text as bytes, and the exceptions of a strategy."""

from schemas.identity import MessageQueue

ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NULL_POINTER = "java.lang.NullPointerException"


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


def illegal_argument(message: str) -> AllocationError:
    return AllocationError(ILLEGAL_ARGUMENT, message)


def null_pointer(message: str) -> AllocationError:
    return AllocationError(NULL_POINTER, message)


def queue_text(queue: MessageQueue) -> str:
    """``MessageQueue.toString()``: what consistent hashing hashes, and what stands in messages."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


def utf8(text: str) -> bytes:
    """``String.getBytes(UTF_8)``: half a surrogate pair becomes a question mark, where Python refuses it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
        return paired.encode(errors="replace")
