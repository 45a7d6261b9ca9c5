"""The order in which a client sorts queues and client ids before it asks its strategy.

Python compares code points, Java UTF-16 code units; on ASCII both agree, and the plain sort is several times cheaper.
"""

from collections.abc import Collection, Iterable

from schemas.identity import MessageQueue, java_order, queue_order


def sort_queues(queues: Iterable[MessageQueue]) -> tuple[MessageQueue, ...]:
    """As ``Collections.sort`` on message queues: topic, broker name, queue id."""
    listed = list(queues)
    if not listed:
        return ()
    topics, broker_names, _ = zip(*listed, strict=True)
    plain = _are_ascii(topics) and _are_ascii(broker_names)
    return tuple(sorted(listed) if plain else sorted(listed, key=queue_order))


def sort_client_ids(client_ids: Iterable[str]) -> tuple[str, ...]:
    """As ``Collections.sort`` on strings. An id that is listed twice stays listed twice."""
    listed = list(client_ids)
    return tuple(sorted(listed) if _are_ascii(listed) else sorted(listed, key=java_order))


def _are_ascii(texts: Collection[str]) -> bool:
    return "".join(texts).isascii()
