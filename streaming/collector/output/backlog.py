"""Records that wait for Kafka, within a bound of memory. Beyond it the oldest are dropped.

The bound is ``memory_mb`` of the table ``[collector]`` of ``config/sections``.

The numbers of the events (``seq``) show that some were dropped. The collector tells everything again as soon as Kafka
takes records, so nothing stays unknown.
"""

from collections import deque
from collections.abc import Iterable
from threading import Condition

from schemas.events import AnyEvent
from streaming.collector.output.records import KafkaRecord, RecordBuilder

OVERHEAD_BYTES = 400  # of a waiting record, beside its value
KEPT_SHARE = 0.75  # of the bound, when the oldest are dropped


class Backlog:
    """In the order in which it came. Safe to use from two threads; ``put`` never waits. ``given_up`` counts events."""

    def __init__(self, limit_bytes: int) -> None:
        self.given_up = 0
        self._limit_bytes = limit_bytes
        self._builder = RecordBuilder()
        self._records: deque[KafkaRecord] = deque()
        self._bytes = 0
        self._changed = Condition()

    def __len__(self) -> int:
        """How many events wait."""
        return sum(record.events for record in tuple(self._records))

    def put(self, events: Iterable[AnyEvent]) -> None:
        with self._changed:
            for event in events:
                self._append(self._builder.add(event))
            self._changed.notify_all()

    def close(self) -> None:
        """No round will be completed any more: what has come of them is put in."""
        with self._changed:
            self._append(self._builder.close())
            self._changed.notify_all()

    def take(self, most: int, wait_s: float) -> list[KafkaRecord]:
        """The oldest records; waits for one for a while."""
        with self._changed:
            if not self._records:
                self._changed.wait(wait_s)
            taken = [self._records.popleft() for _ in range(min(most, len(self._records)))]
            self._bytes -= sum(map(_size, taken))
            return taken

    def _append(self, records: Iterable[KafkaRecord]) -> None:
        for record in records:
            self._records.append(record)
            self._bytes += _size(record)
        if self._bytes > self._limit_bytes:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        while self._records and self._bytes > self._limit_bytes * KEPT_SHARE:
            dropped = self._records.popleft()
            self._bytes -= _size(dropped)
            self.given_up += dropped.events


def _size(record: KafkaRecord) -> int:
    return len(record.value) + OVERHEAD_BYTES
