"""Events to Kafka records: the events of one round of a group are one record, as far as they fit.

Kafka, Spark and Arrow handle each record by itself, so a few large records cost less than many small ones.
"""

from typing import NamedTuple

from schemas.events import AnyEvent, Round, encode_event
from schemas.records import group_key, record_values


class KafkaRecord(NamedTuple):
    """``value`` is one event, or a JSON array of ``events`` events of one group."""

    key: bytes
    value: bytes
    events: int


class RecordBuilder:
    """Collects the events of each group until the marker of their round."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, list[bytes]] = {}

    def add(self, event: AnyEvent) -> list[KafkaRecord]:
        """The records that are complete with this event."""
        key = group_key(event.cluster, event.group).encode()
        self._waiting.setdefault(key, []).append(encode_event(event))
        return self._close(key) if isinstance(event, Round) and event.part == event.parts - 1 else []

    def close(self) -> list[KafkaRecord]:
        """Returns the records that still wait for the end of a round."""
        return [record for key in list(self._waiting) for record in self._close(key)]

    def _close(self, key: bytes) -> list[KafkaRecord]:
        return [KafkaRecord(key, *joined) for joined in record_values(self._waiting.pop(key))]
