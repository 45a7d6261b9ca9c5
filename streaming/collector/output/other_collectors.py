"""Finds another collector that watches the same clusters: then clients are asked twice as often as they should be.

RocketMQ keeps no trace of who asks. But the events of all collectors go through one Kafka topic, and every event names
its producer. So once a minute the newest records of one partition are read.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Event, Thread
from typing import Any

import msgspec
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from msgspec import Struct

from streaming.collector.output.kafka import opened
from streaming.config.sections import Source
from streaming.config.values import server_list
from streaming.wall_clock import now_ms

LOOK_BACK_MS = 20_000
CHECK_EVERY_S = 60
WARN_AGAIN_AFTER_S = 600
MAX_RECORDS = 20_000
log = logging.getLogger(__name__)


class _Head(Struct):
    event: str
    cluster: str
    group: str = ""
    source: str = ""


_decode = msgspec.json.Decoder(_Head | list[_Head]).decode


def other_collectors(values: Iterable[bytes], source_of: Callable[[str, str], str | None]) -> dict[str, set[str]]:
    """Cluster -> others that end rounds of it, from records; ``source_of`` gives our own, of a group that we ask."""
    found: dict[str, set[str]] = {}
    for value in values:
        try:
            decoded = _decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        for head in decoded if isinstance(decoded, list) else [decoded]:
            ours = source_of(head.cluster, head.group) if head.event == "round" else None
            if ours is not None and head.source != ours:
                found.setdefault(head.cluster, set()).add(head.source)
    return found


class OtherCollectorCheck:
    """Looks once a minute, in a thread of its own. If it cannot look, it says so once and goes on."""

    def __init__(
        self, source: Source, options: Mapping[str, Any], source_of: Callable[[str, str], str | None], stop: Event
    ) -> None:
        self._servers, self._topic, self._source_of, self._stop = (
            source.bootstrap_servers,
            source.topic,
            source_of,
            stop,
        )
        self._options = {name: value for name, value in options.items() if name != "compression_type"}
        self._said: dict[tuple[str, str], float] = {}
        self._has_failed = False

    def start(self) -> None:
        Thread(target=self._run, name="lookout", daemon=True).start()

    def _run(self) -> None:
        turn = 0
        while not self._stop.wait(CHECK_EVERY_S):
            turn += 1
            try:
                self._say(other_collectors(self.newest_values(turn), self._source_of))
            except (KafkaError, OSError) as error:
                if not self._has_failed:
                    log.warning("cannot look for other collectors in %s: %s", self._topic, error)
                self._has_failed = True

    def newest_values(self, turn: int) -> list[bytes]:
        """Reads what came into one partition within the last seconds; the partitions take turns."""
        options = {
            "bootstrap_servers": list(server_list(self._servers)),
            "enable_auto_commit": False,
            "consumer_timeout_ms": 2_000,
            **self._options,
        }
        consumer = opened(KafkaConsumer, options)
        try:
            partitions = sorted(consumer.partitions_for_topic(self._topic) or ())
            if not partitions:
                return []
            partition = TopicPartition(self._topic, partitions[turn % len(partitions)])
            consumer.assign([partition])
            since = consumer.offsets_for_times({partition: now_ms() - LOOK_BACK_MS})[partition]
            if since is None:
                return []
            consumer.seek(partition, since.offset)
            end = consumer.end_offsets([partition])[partition]
            return _values_up_to(consumer, end)
        finally:
            consumer.close()

    def _say(self, others: Mapping[str, set[str]]) -> None:
        now = time.monotonic()
        for cluster, sources in others.items():
            for source in sources:
                if now - self._said.get((cluster, source), -WARN_AGAIN_AFTER_S) >= WARN_AGAIN_AFTER_S:
                    self._said[cluster, source] = now
                    log.warning("%s: another collector probes it too, and should not: %s", cluster, source)


def _values_up_to(consumer: Any, end: int) -> list[bytes]:
    values = []
    for record in consumer:
        values.append(record.value or b"")
        if record.offset + 1 >= end or len(values) >= MAX_RECORDS:
            break
    return values
