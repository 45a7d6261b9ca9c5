"""Events that wait for Kafka, within a bound of memory. Beyond it, only the newest event of each kind is kept.

The numbers of the events (``seq``) show what was dropped: the events of a group that are kept are numbered again, up to
its newest. So a reader sees one gap, and knows from when on it has everything.
"""

from collections import deque
from collections.abc import Hashable, Iterable
from threading import Condition
from typing import NamedTuple

from msgspec import structs

from schemas.events import (
    AnyEvent,
    AssignmentReport,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    Round,
    TopicRoute,
    decode_event,
    encode_event,
)
from schemas.identity import group_key

OVERHEAD_BYTES = 400  # of a waiting record, beside its value


class Waiting(NamedTuple):
    """A record. A newer one with the same ``slot`` replaces it. None: it is of no use once it is late."""

    key: bytes
    slot: Hashable
    seq: int
    value: bytes

    @property
    def size(self) -> int:
        return len(self.value) + OVERHEAD_BYTES


class Backlog:
    """In the order in which it came. Safe to use from two threads; ``put`` never waits."""

    def __init__(self, limit_bytes: int) -> None:
        self.given_up = 0
        self._limit_bytes = limit_bytes
        self._records: deque[Waiting] = deque()
        self._bytes = 0
        self._changed = Condition()

    def __len__(self) -> int:
        return len(self._records)

    def put(self, events: Iterable[AnyEvent]) -> None:
        with self._changed:
            for event in events:
                self._append(_waiting(event))
            if self._bytes > self._limit_bytes:
                self._shrink()
            self._changed.notify_all()

    def take(self, most: int, wait_s: float) -> list[Waiting]:
        """The oldest records; waits for one for a while."""
        with self._changed:
            if not self._records:
                self._changed.wait(wait_s)
            taken = [self._records.popleft() for _ in range(min(most, len(self._records)))]
            self._bytes -= sum(record.size for record in taken)
            return taken

    def _append(self, record: Waiting) -> None:
        self._records.append(record)
        self._bytes += record.size

    def _shrink(self) -> None:
        """To the newest of each slot, then to the newest at all."""
        before = len(self._records)
        kept = newest_of_each(self._records)
        size = sum(record.size for record in kept)
        start = 0
        while size > self._limit_bytes // 4 * 3:
            size -= kept[start].size
            start += 1
        self._records = deque(renumbered(kept[start:]))
        self._bytes = size
        self.given_up += before - len(self._records)


def newest_of_each(records: Iterable[Waiting]) -> list[Waiting]:
    """The last record of each slot, in their order."""
    last: dict[tuple[bytes, Hashable], Waiting] = {}
    for record in records:
        if record.slot is not None:
            last.pop((record.key, record.slot), None)
            last[record.key, record.slot] = record
    return list(last.values())


def renumbered(records: list[Waiting]) -> list[Waiting]:
    """Each group's records with consecutive numbers that end at its newest."""
    next_seq: dict[bytes, int] = {}
    result = []
    for record in reversed(records):
        seq = next_seq.get(record.key, record.seq)
        next_seq[record.key] = seq - 1
        result.append(record if seq == record.seq else _numbered(record, seq))
    return result[::-1]


def _numbered(record: Waiting, seq: int) -> Waiting:
    event = structs.replace(decode_event(record.value), seq=seq)
    return record._replace(seq=seq, value=encode_event(event))


def _waiting(event: AnyEvent) -> Waiting:
    return Waiting(group_key(event.cluster, event.group).encode(), _slot(event), event.seq, encode_event(event))


def _slot(event: AnyEvent) -> Hashable:
    """The lists of a round say who is there; single changes say nothing beyond them."""
    if isinstance(event, Heartbeat):
        return "heartbeat", event.broker_name, event.client_id
    if isinstance(event, AssignmentReport):
        return "report", event.client_id, event.start_ts
    if isinstance(event, TopicRoute):
        return "route", event.topic
    if isinstance(event, ConsumeProgress):
        return "progress", event.broker_name, event.topic, event.queues[0].queue_id if event.queues else None
    if isinstance(event, Round):
        return "round", event.part
    assert isinstance(event, ConsumerChange)
    return None
