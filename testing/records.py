"""Records as the job reads them, and those of a topic."""

from contextlib import closing
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from schemas.events import AnyEvent
from schemas.records import Rejected, decode_record


def accepted(key: bytes | None, value: bytes, arrival_ts: int | None = None) -> list[AnyEvent]:
    """The events of a record, of which none may be rejected."""
    found = []
    for event in decode_record(key, value, len(value), arrival_ts):
        assert not isinstance(event, Rejected), event
        found.append(event)
    return found


def records_of(servers: str, topic: str) -> list[Any]:
    """What the topic holds now, each partition in its order."""
    found = []
    with closing(KafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)) as consumer:
        parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        ends = consumer.end_offsets(parts)
        while any(consumer.position(part) < ends[part] for part in parts):
            found += [record for records in consumer.poll(timeout_ms=1_000).values() for record in records]
    return found
