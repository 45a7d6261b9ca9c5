"""How Java writes a queue as text, and a text as bytes."""

from schemas.identity import MessageQueue


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
