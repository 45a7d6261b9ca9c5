"""A Kafka record: its key, the limits of key and value, and the joining of encoded events to a value."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_RECORD_BYTES = 128 * 1024
MAX_KEY_BYTES = 4 * (255 + 1024) + 1  # the longest names of a cluster and a group, in UTF-8, and the slash


def group_key(cluster: str, group: str) -> str:
    """The Kafka key of all events of a consumer group: ``cluster/group``.

    A cluster name has no ``/`` (configuration refuses it), so the first one divides the two.
    """
    return f"{cluster}/{group}"


class RecordValue(NamedTuple):
    """The value of one record: one event, or a JSON array of several."""

    value: bytes
    events: int


def record_values(encoded: Iterable[bytes]) -> Iterator[RecordValue]:
    """Encoded events of one group in as few records as their limit allows, in their order."""
    waiting: list[bytes] = []
    size = 1
    for event in encoded:
        if waiting and size + len(event) + 1 > MAX_RECORD_BYTES:
            yield _joined(waiting)
            waiting, size = [], 1
        waiting.append(event)
        size += len(event) + 1
    if waiting:
        yield _joined(waiting)


def _joined(encoded: list[bytes]) -> RecordValue:
    return RecordValue(encoded[0] if len(encoded) == 1 else b"[" + b",".join(encoded) + b"]", len(encoded))
