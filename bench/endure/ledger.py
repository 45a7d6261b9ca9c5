"""What the job should have written, by the events in Kafka, and what it has written."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.reliability.counting import EventNumbers, TopicReader, is_of_group, named
from schemas.facts import Fact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.tables.facts_log import FactsReader

Name = tuple[int, bytes]


class Ledger:
    """The facts of the groups, wanted and found. A fact that is both is forgotten, unless it is found again.

    ``facts``: all that were found. ``events_lost``, ``events_repeated``: numbers of events between the collector and
    Kafka.
    """

    def __init__(self, kafka: str, topic: str, partitions: int, facts: Path, cluster: str) -> None:
        self._cluster = cluster
        self._records = TopicReader(kafka, topic, partitions)
        self._facts = FactsReader(facts)
        self._numbers = EventNumbers()
        self._blob: bytes | None = None
        self._open: Counter[Name] = Counter()  # wanted, less those found
        self._counted: set[Name] = set()  # as missing or repeated
        self.events_lost = self.events_repeated = 0
        self.facts: list[Fact] = []

    def begin_again(self, seeds: Sequence[Record], offsets: Mapping[int, int]) -> None:
        """A new checkpoint was made, which begins with these seeds and reads Kafka from these offsets.

        They may be beyond what was read of Kafka until now.
        """
        self._count_events(self._records.new())
        self._records.go_back(offsets)
        self.read_facts()
        self._open.clear()
        self._counted.clear()
        done = fold(None, seeds, DEFAULT_SETTINGS)
        self._blob = done.blob
        self._add(done.facts, 1)

    def read_records(self) -> int:
        """Read the records that have come since the last time. Returns how many facts they give."""
        records = self._records.new()
        self._count_events(records)
        done = fold(self._blob, records, DEFAULT_SETTINGS)
        self._blob = done.blob
        self._add(done.facts, 1)
        return len(done.facts)

    def _count_events(self, records: Iterable[Record]) -> None:
        for record in records:
            lost, repeated = self._numbers.take(record)
            self.events_lost += lost
            self.events_repeated += repeated

    def read_facts(self) -> None:
        found = list(filter(self._counts, self._facts.new()))
        self.facts += found
        self._add(found, -1)

    @property
    def is_even(self) -> bool:
        """Whether all facts that are wanted are found, but for those that were counted as missing."""
        return not self._beyond(1)

    def count_missing(self) -> int:
        """How many facts are wanted and not found. Each counts once."""
        return self._count(1)

    def count_repeated(self) -> int:
        """How many facts are found and not wanted, of the records that were in Kafka when ``read_records`` began."""
        return self._count(-1)

    def _counts(self, fact: Fact) -> bool:
        return is_of_group(fact) and fact.cluster == self._cluster

    def _count(self, sign: int) -> int:
        found = self._beyond(sign)
        self._counted |= found
        return len(found)

    def _beyond(self, sign: int) -> set[Name]:
        return {name for name, number in self._open.items() if number * sign > 0} - self._counted

    def _add(self, facts: list[Fact], number: int) -> None:
        for fact in filter(self._counts, facts):
            name = named(fact)
            self._open[name] += number
            if not self._open[name]:
                del self._open[name]
