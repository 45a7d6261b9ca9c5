"""What collectors remember of the clusters that they ask: the newest record of each cluster, in its partition.

``add`` and ``send`` are called by the thread that talks to Kafka, ``newest`` and ``save`` by the loop of each cluster.
"""

import logging
from collections.abc import Iterable
from functools import partial
from typing import Any

from kafka.errors import KafkaError

from streaming.collector.failover.topic import partition_of

log = logging.getLogger(__name__)


class Memories:
    """``clusters``: those of the configuration."""

    def __init__(self, topic: str, clusters: Iterable[str]) -> None:
        self._topic, self._clusters = topic, frozenset(clusters)
        self._records: dict[str, bytes] = {}
        self._to_write: dict[str, bytes] = {}
        self._unsaved: set[str] = set()  # clusters of which that was logged

    def newest(self, cluster: str) -> bytes | None:
        """The newest record of a cluster that this collector may ask."""
        return self._records.get(cluster)

    def save(self, cluster: str, record: bytes) -> None:
        self._to_write[cluster] = record

    def add(self, records: Iterable[Any]) -> None:
        for record in records:
            name = (record.key or b"").decode("utf-8", "replace")
            if name in self._clusters:
                self._records[name] = record.value

    def send(self, producer: Any, numbers: Iterable[int]) -> None:
        """Sends the records that wait, of the clusters in these partitions. A failure is logged once a cluster."""
        for cluster in [one for one in self._to_write if partition_of(one) in numbers]:
            record = self._to_write.pop(cluster)
            try:
                number = partition_of(cluster)
                sent = producer.send(self._topic, key=cluster.encode(), value=record, partition=number)
                sent.add_errback(partial(self._note_failure, cluster))
            except (KafkaError, ValueError) as error:
                self._note_failure(cluster, error)

    def drop(self) -> None:
        """Nothing that waits is sent any more: another collector may have written since."""
        self._to_write.clear()

    def _note_failure(self, cluster: str, error: Exception) -> None:
        if cluster not in self._unsaved:
            self._unsaved.add(cluster)
            log.error("%s: what this collector remembers cannot be saved: %s", cluster, error)
