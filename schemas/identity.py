"""Names of RocketMQ's things, and the order in which RocketMQ sorts them."""

from typing import NamedTuple

RETRY_TOPIC_PREFIX = "%RETRY%"
REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"  # by which brokers read what POP left unacknowledged (PopAckConstants)
PROXY_PREFIX = "proxy "  # a broker's name has no blank


class MessageQueue(NamedTuple):
    """One queue of one topic on one broker (``org.apache.rocketmq.common.message.MessageQueue``)."""

    topic: str
    broker_name: str
    queue_id: int


def java_order(text: str) -> bytes:
    """Sort key equal to ``java.lang.String.compareTo``: UTF-16 code units, then length.

    It differs from Python's own order only if a character above U+FFFF meets one in U+E000..U+FFFF.
    """
    return text.encode("utf-16-be", "surrogatepass")


def queue_order(queue: MessageQueue) -> tuple[bytes, bytes, int]:
    """Sort key equal to ``MessageQueue.compareTo``: topic, broker name, then queue id as a number."""
    return java_order(queue.topic), java_order(queue.broker_name), queue.queue_id


def retry_topic(group: str) -> str:
    """The group's retry topic (``KeyBuilder``/``MixAll.getRetryTopic``)."""
    return RETRY_TOPIC_PREFIX + group


def is_retry_topic(topic: str) -> bool:
    return topic.startswith(RETRY_TOPIC_PREFIX)


def popped_topic(group: str, topic: str) -> str | None:
    """The topic whose messages come back in a group's POP retry topic; None: this is none (KeyBuilder).

    It is ``%RETRY%group_topic``, or ``%RETRY%group+topic`` of brokers with ``enableRetryTopicV2``.
    """
    own = retry_topic(group)
    return topic[len(own) + 1 :] if topic.startswith((f"{own}_", f"{own}+")) else None


def proxy_name(address: str) -> str:
    """The name of a proxy in events, in place of a broker's name. RocketMQ gives a proxy no name that is its own."""
    return PROXY_PREFIX + address


def proxy_address(name: str) -> str:
    return name.removeprefix(PROXY_PREFIX)


def is_proxy(broker_name: str) -> bool:
    return broker_name.startswith(PROXY_PREFIX)


def host_of(client_id: str) -> str:
    """The host of a client id, ``ip@instance``. A restarted process keeps its host, and mostly takes a new id."""
    return client_id.partition("@")[0]


def without_host(address: str, client_id: str) -> str:
    """``:port`` of an address on the client id's own host; any other address unchanged."""
    host, colon, port = address.rpartition(":")
    return f":{port}" if colon and host == host_of(client_id) else address


def with_host(address: str, client_id: str) -> str:
    """The whole address, from the result of ``without_host``."""
    return host_of(client_id) + address if address.startswith(":") else address
