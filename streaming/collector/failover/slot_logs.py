"""The logs of clusters that collectors share (``probing.share``), as far as they are in Kafka.

The log of a cluster's slots is in a partition that none of its slots has. Every collector reads all of it. A slot is
asked when all was read that its owners before wrote.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from streaming.collector.failover.term import Term
from streaming.collector.failover.topic import WRITE_WITHIN_S, log_partition_of, partition_of
from streaming.collector.probing.share import SLOTS, Log

LOG_POLL_MS = 20
READ_LOG_S = 1  # then heartbeats are looked at again


class SlotLogs:
    """``logs``: of the clusters that are shared, by their names. ``slots``: what collectors ask of them. ``open_log``
    makes the consumer that reads them.

    ``add`` and ``follow`` are called by the loop of each slot, all else by the thread that talks to Kafka.
    """

    def __init__(
        self, topic: str, slots: Iterable[str], logs: Mapping[str, Log], open_log: Callable[[], Any], term: Term
    ) -> None:
        self._topic, self._slots, self._logs = topic, tuple(slots), dict(logs)
        self._open_log, self._term = open_log, term
        self._reader: Any = None
        self._ends: dict[int, Mapping[TopicPartition, int]] = {}  # by partition that is to be owned
        self._to_write: deque[tuple[str, str, bytes | None]] = deque()  # slot's name, key, value
        self._failure: Exception | None = None

    # --- what the loops of the slots call

    def add(self, slot: str, key: str, value: bytes | None) -> None:
        """Adds a record of a slot to the log of its cluster."""
        self._to_write.append((slot, key, value))

    def follow(self, slot: str) -> None:
        """Takes up what was read of the log of a slot's cluster, if collectors share it."""
        if (log_of_cluster := self._logs.get(slot.partition("/")[0])) is not None:
            log_of_cluster.follow()

    # --- the thread

    @property
    def is_open(self) -> bool:
        return self._reader is not None

    def partitions_of_clusters(self) -> list[frozenset[int]]:
        """Those of each cluster's slots."""
        return [frozenset(partition_of(f"{one}/{slot}") for slot in range(SLOTS)) for one in self._logs]

    def begin(self) -> None:
        """Each log is read from its beginning once more."""
        self._reader, self._failure = self._open_log(), None
        self._to_write.clear()
        for log_of_cluster in self._logs.values():
            log_of_cluster.begin()

    def close(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            reader.close(timeout_ms=WRITE_WITHIN_S * 1000)

    def read(self) -> None:
        end_s = time.monotonic() + READ_LOG_S
        while time.monotonic() < end_s and (polled := self._reader.poll(timeout_ms=LOG_POLL_MS)):
            for record in (record for records in polled.values() for record in records):
                cluster, _, key = (record.key or b"").decode("utf-8", "surrogatepass").partition("/")
                if "/" in key and cluster in self._logs:
                    self._logs[cluster].add(key, record.value)

    def write(self, producer: Any, numbers: Iterable[int]) -> None:
        """Sends the records that wait, of the slots in these partitions.

        A record that may or may not have been written ends the membership: the next one reads what is there.
        """
        while self._to_write and self._failure is None:
            slot, key, value = self._to_write.popleft()
            cluster = slot.partition("/")[0]
            if partition_of(slot) not in numbers or not self._term.is_valid(time.monotonic()):
                self._failure = KafkaError("another collector may ask now")
                break
            try:
                sent = producer.send(
                    self._topic,
                    key=f"{cluster}/{key}".encode("utf-8", "surrogatepass"),
                    value=value,
                    partition=log_partition_of(cluster),
                )
                sent.add_errback(self._note_failure)
            except KafkaError as error:
                self._failure = error
        if self._failure is not None:
            raise KafkaError(f"what this collector asks could not be written: {self._failure}")

    def lose(self) -> None:
        """Nothing that waits is written any more: the slots were given to others."""
        if self._reader is not None:
            self._failure = KafkaError("its slots were given to others")
            self._to_write.clear()

    def is_read(self, number: int) -> bool:
        """Returns whether all was read that the owners of a partition before this one wrote, of its slots' clusters.

        Raises KafkaTimeoutError.
        """
        if self._reader is None:
            return True
        clusters = {slot.partition("/")[0] for slot in self._slots if partition_of(slot) == number}
        places = {TopicPartition(self._topic, log_partition_of(cluster)) for cluster in clusters}
        if number not in self._ends:
            self._ends[number] = self._reader.end_offsets(list(places), timeout_ms=READ_LOG_S * 1000)
        ends = self._ends[number]
        if any((self._reader.position(at, timeout_ms=READ_LOG_S * 1000) or 0) < ends[at] for at in places):
            return False
        del self._ends[number]
        return True

    def give_back(self, number: int) -> None:
        """A partition that is to be owned again is read to its end again."""
        self._ends.pop(number, None)

    def _note_failure(self, error: Exception) -> None:
        self._failure = error
