"""Finds records that Kafka dropped before they were read, by comparing what should have been read with what was."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from streaming.spark.checkpoint import Offsets
from streaming.spark.operator import RecordsRead

Partition = tuple[str, int]
EarliestOffsets = Callable[[Collection[Partition]], Mapping[Partition, int]]


class Loss(NamedTuple):
    """How many records were lost, and where."""

    records: int = 0
    detail: str | None = None


class LossFinder:
    """Finds losses and counts each once: a loss found at the start is not counted again in the batch that skips it."""

    def __init__(self, earliest: EarliestOffsets) -> None:
        self._earliest = earliest
        self._reported: dict[Partition, int] = {}

    def at_start(self, position: Offsets) -> Loss:
        """The records that are already gone when the next record to be read is at ``position``."""
        wanted = {partition: offset for partition, offset in flat(position).items() if offset >= 0}
        first = self._earliest(wanted)
        self._reported = {
            partition: first[partition] for partition in wanted if first.get(partition, 0) > wanted[partition]
        }
        return _loss({partition: offset - wanted[partition] for partition, offset in self._reported.items()})

    def in_batch(self, start: Offsets, end: Offsets, records_read: Iterable[RecordsRead]) -> Loss:
        """The records that a batch should have read and did not read.

        Fewer records than offsets is not loss in itself: transactions leave markers, compaction leaves gaps. Only
        where Kafka's first record has moved past the batch's start were records dropped. A partition that goes
        backwards belongs to a topic that was deleted and made again: its records are gone.
        """
        begins, ends, read = flat(start), flat(end), Counter[Partition]()
        for one in records_read:
            read[one.topic, one.partition] += one.records
        begin = {partition: max(begins.get(partition, 0), self._reported.get(partition, 0)) for partition in ends}
        missing = {partition: ends[partition] - begin[partition] - read[partition] for partition in ends}
        suspects = [partition for partition, records in missing.items() if records > 0]
        first = self._earliest(suspects)
        lost = {
            partition: min(missing[partition], min(first[partition], ends[partition]) - begin[partition])
            for partition in suspects
            if partition in first
        }
        lost |= {partition: max(1, offset) for partition, offset in ends.items() if offset < begins.get(partition, 0)}
        return _loss(lost)


def _loss(found: Mapping[Partition, int]) -> Loss:
    lost = {partition: records for partition, records in found.items() if records > 0}
    if not lost:
        return Loss()
    where = ", ".join(f"{records} of {topic}-{number}" for (topic, number), records in sorted(lost.items()))
    return Loss(sum(lost.values()), f"Kafka dropped records before they were read: {where}")


def flat(offsets: Offsets) -> dict[Partition, int]:
    """The numbers by partition."""
    return {(topic, int(number)): offset for topic, numbers in offsets.items() for number, offset in numbers.items()}
