"""Records that wait for Kafka, within a bound of memory. Beyond it the oldest are dropped.

The events of one round of a group are one record, as far as they fit: Kafka, Spark and Arrow handle each record by
itself, so a few large records cost less than many small ones.

The bound is ``memory_mb`` of the table ``[collector]`` of ``config/sections``.

The numbers of the events (``seq``) show that some were dropped. The collector tells everything again as soon as Kafka
takes records, so nothing stays unknown.
"""

from collections import deque
from collections.abc import Iterable
from threading import Condition
from typing import NamedTuple

from schemas.events import AnyEvent, Round, encode_event
from schemas.records import group_key, record_values

OVERHEAD_BYTES = 400  # of a waiting record, beside its value
KEPT_SHARE = 0.75  # of the bound, when the oldest are dropped


class KafkaRecord(NamedTuple):
    """``value`` is one event, or a JSON array of ``events`` events of one group."""

    key: bytes
    value: bytes
    events: int


class Backlog:
    """In the order in which it came. Safe to use from two threads; ``put`` never waits. ``given_up`` counts events."""

    def __init__(self, limit_bytes: int) -> None:
        self.given_up = 0
        self._limit_bytes = limit_bytes
        self._unfinished: dict[bytes, list[bytes]] = {}  # by group: events whose round's marker has not come
        self._records: deque[KafkaRecord] = deque()
        self._bytes = 0
        self._changed = Condition()

    def __len__(self) -> int:
        """How many events wait."""
        return sum(record.events for record in tuple(self._records))

    def put(self, events: Iterable[AnyEvent]) -> None:
        with self._changed:
            for event in events:
                key = group_key(event.cluster, event.group).encode()
                self._unfinished.setdefault(key, []).append(encode_event(event))
                if isinstance(event, Round) and event.part == event.parts - 1:
                    self._append(key)
            self._changed.notify_all()

    def append(self, records: Iterable[KafkaRecord]) -> None:
        """Put in records as they are."""
        with self._changed:
            self._add(records)
            self._changed.notify_all()

    def wait_for_room(self, wait_s: float) -> bool:
        """Whether there is room, at the latest after a while. For those who wait rather than lose the oldest."""
        with self._changed:
            return self._changed.wait_for(lambda: self._bytes <= self._limit_bytes * KEPT_SHARE, wait_s)

    def end_rounds(self, cluster: str | None = None) -> None:
        """No round of the cluster, or of any, will be completed any more: what has come of them is put in."""
        with self._changed:
            for key in list(self._unfinished):
                if cluster is None or key.startswith(f"{cluster}/".encode()):
                    self._append(key)
            self._changed.notify_all()

    def take(self, most: int, wait_s: float) -> list[KafkaRecord]:
        """The oldest records; waits for one for a while."""
        with self._changed:
            if not self._records:
                self._changed.wait(wait_s)
            taken = [self._records.popleft() for _ in range(min(most, len(self._records)))]
            self._bytes -= sum(map(_size, taken))
            self._changed.notify_all()
            return taken

    def _append(self, key: bytes) -> None:
        self._add(KafkaRecord(key, *joined) for joined in record_values(self._unfinished.pop(key)))

    def _add(self, records: Iterable[KafkaRecord]) -> None:
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
