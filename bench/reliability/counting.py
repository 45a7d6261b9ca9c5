"""What is lost or there twice: events in Kafka, facts in the table, and pages at the webhook."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from kafka import KafkaConsumer, TopicPartition

from schemas.facts import AlertState, Fact, HealthFact, QuarantineFact
from streaming.core.shard import Record
from streaming.replay.alert_transitions import transitions
from testing.records import accepted

PAGED_WITHIN_MS = 120_000  # of an alert that is open for longer
NO_FACTS_OF_GROUPS = (HealthFact, QuarantineFact)


class TopicReader:
    """The records of a topic, each once: ``new`` has those since the last call, of each partition in its order."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self._servers, self._topic = bootstrap_servers, topic
        self._next = dict.fromkeys(range(partitions), 0)

    def go_back(self, offsets: Mapping[int, int]) -> None:
        """Read from these offsets on, by partition."""
        self._next |= offsets

    def new(self) -> list[Record]:
        consumer = KafkaConsumer(bootstrap_servers=self._servers)
        try:
            partitions = [TopicPartition(self._topic, number) for number in self._next]
            consumer.assign(partitions)
            for one in partitions:
                consumer.seek(one, self._next[one.partition])
            left = sum(end - self._next[one.partition] for one, end in consumer.end_offsets(partitions).items())
            found: list[Record] = []
            while len(found) < left:
                for some in consumer.poll(1000).values():
                    found += map(_record, some)
        finally:
            consumer.close()
        for record in found:
            assert record.partition is not None
            assert record.offset is not None
            self._next[record.partition] = record.offset + 1
        return found


def _record(one: Any) -> Record:
    return Record(one.key, one.value, len(one.value), None, one.timestamp, one.topic, one.partition, one.offset)


class EventNumbers:
    """The numbers that a source gives a group's events. They have no gap. A record counts once."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str, str], int] = {}
        self._taken: dict[int | None, int] = {}  # offset, by partition

    def take(self, record: Record) -> tuple[int, int]:
        """How many events are missing before those of the record, and how many of its own were there before."""
        assert record.value is not None
        assert record.offset is not None
        if record.offset <= self._taken.get(record.partition, -1):
            return 0, 0
        self._taken[record.partition] = record.offset
        lost = repeated = 0
        for event in accepted(record.key, record.value):
            key = (event.cluster, event.group, event.source)
            before = self._newest.get(key, event.seq - 1)
            lost += max(event.seq - before - 1, 0)
            repeated += event.seq <= before
            self._newest[key] = max(before, event.seq)
        return lost, repeated


def named(fact: Fact) -> tuple[int, bytes]:
    """What tells a fact from all others, and its time."""
    return fact.ts, msgspec.json.encode(fact)


def is_of_group(fact: Fact) -> bool:
    """False for what the job says of itself, or of records."""
    return not isinstance(fact.payload, NO_FACTS_OF_GROUPS)


def repeated_notices(notices: Iterable[Any]) -> Iterator[Any]:
    """Notices that say nothing that the one before of the same page did not say: no other status, and no alert,
    severity, cause or queue that is new.
    """
    last: dict[str, frozenset[Hashable]] = {}
    for notice in notices:
        if notice["trouble"] is None:
            said = frozenset(_said(notice))
            if said <= last.get(notice["key"], frozenset()):
                yield notice
            last[notice["key"]] = said


def _said(notice: Any) -> Iterator[Hashable]:
    for alert in (one["alert"] for one in notice["alerts"]):
        about = notice["status"], alert["fingerprint"], alert["severity"], alert["cause"]
        yield about
        yield from ((*about, queue["broker_name"], queue["queue_id"]) for queue in alert["queues"])


def times_without_page(notices: Iterable[Any], facts: Iterable[Fact], now_ms: int) -> Iterator[int]:
    """When each alert began that was open for long, though its last notice did not say so."""
    told: dict[str, list[tuple[int, str]]] = {}
    for notice in notices:
        for fingerprint in _fingerprints(notice) if notice["trouble"] is None else ():
            told.setdefault(fingerprint, []).append((notice["sent_ts"], notice["status"]))
    for fingerprint, from_ts, to_ts in _open_times(facts, now_ms):
        before = [status for sent_ts, status in told.get(fingerprint, []) if sent_ts <= to_ts]
        if to_ts - from_ts > PAGED_WITHIN_MS and before[-1:] != ["firing"]:
            yield from_ts


def _fingerprints(notice: Any) -> Sequence[str]:
    return [alert["alert"]["fingerprint"] for alert in notice["alerts"]]


def _open_times(facts: Iterable[Fact], now_ms: int) -> Iterator[tuple[str, int, int]]:
    """Each time in which an alert was open: its fingerprint, and from when to when. Facts are taken in the order of
    their numbers, since a clock that is set right makes older facts of a group later than newer ones.
    """
    fired: dict[str, int] = {}
    for fact, alert in sorted(transitions(facts), key=lambda one: (one.fact.cluster, one.fact.group, one.fact.seq)):
        if alert.state == AlertState.FIRING:
            fired.setdefault(alert.fingerprint, fact.ts)
        elif alert.fingerprint in fired:
            yield alert.fingerprint, fired.pop(alert.fingerprint), fact.ts
    yield from ((fingerprint, from_ts, now_ms) for fingerprint, from_ts in fired.items())
