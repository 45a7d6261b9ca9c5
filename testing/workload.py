"""What is told to the job: the recordings of a real RocketMQ, moved in time, and records that nobody can use."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Event, Thread
from typing import NamedTuple

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from schemas.events import encode_event
from schemas.facts import Fact, QuarantineFact
from schemas.records import MAX_RECORD_BYTES, group_key
from streaming.core.settings import Settings
from streaming.core.shard import Record, fold
from streaming.demo.recording_schedule import Scenario, end_of, load_scenarios, moved_by
from streaming.loopback import LoopbackKafka
from streaming.replay.recording import RecordingTranslation
from streaming.wall_clock import now_ms
from testing.tables import fact_order

PARTITIONS = 3
DAY_MS = 86_400_000


class Sent(NamedTuple):
    """A record for Kafka; ``partition`` None: by its key."""

    key: bytes | None
    value: bytes | None
    partition: int | None = None


def recorded(cluster: str, ends_ms: int, days: int = 1, names: Sequence[str] = ()) -> list[Sent]:
    """The recordings (those of these names), side by side, each ending at ``ends_ms``.

    ``days``: so many times over, a day apart, the last time ending then. The order is that in which a collector would
    have sent them.
    """
    scenarios = [one for one in load_scenarios(print) if not names or one.plan.name in names]
    parts = (_played(one, cluster, ends_ms, days, place % PARTITIONS) for place, one in enumerate(scenarios))
    played = heapq.merge(*parts, key=lambda due: due[0])
    return [record for _, record in played]


def _played(scenario: Scenario, cluster: str, ends_ms: int, days: int, partition: int) -> Iterator[tuple[int, Sent]]:
    """With the time at which each is due. All of a group goes to one partition; by their keys most shared one."""
    key = group_key(cluster, scenario.group).encode()
    translation = RecordingTranslation(cluster, "e2e")
    due_ms = 0
    for day in reversed(range(days)):
        by_ms = ends_ms - scenario.last_ts - day * DAY_MS
        for line in scenario.lines:
            moved = moved_by(line, by_ms, by_ms)
            due_ms = max(due_ms, end_of(moved))
            yield from ((due_ms, Sent(key, encode_event(event), partition)) for event in translation.feed(moved))
    yield from ((due_ms, Sent(key, encode_event(event), partition)) for event in translation.finish())


def with_bad_ones(records: Iterable[Sent]) -> list[Sent]:
    """The records, and among them every kind that is quarantined, on every partition; one event of a group is lost."""
    good = list(records)
    key, value, partition = good[len(good) // 2]
    assert value is not None
    broken = value.replace(b'"schema":1', b'"schema":"one"')
    good[len(good) // 2] = Sent(key, b"[" + broken + b"," + value + b"," + broken + b"]", partition)
    bad = [
        Sent(b"e2e/G", b"not json", 0),
        Sent(b"e2e/G", b"\xff\xfe\xfd", 1),
        Sent(b"e2e/G", None, 2),
        Sent(None, value, 0),
        Sent(b"\xff", value, 1),
        Sent(b"e2e/of another group", value, 2),
        Sent(key, b"{" + b" " * MAX_RECORD_BYTES + value[1:], partition),
        Sent(key, broken, partition),
    ]
    del good[len(good) // 3]
    for number, record in enumerate(bad, start=1):
        good.insert(number * len(good) // (len(bad) + 1), record)
    return good


class Feeder:
    """Sends records at an even pace from a thread of its own, until all are sent."""

    def __init__(self, kafka: LoopbackKafka, topic: str, records: Sequence[Sent], seconds: float) -> None:
        self._hurry = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, args=(kafka, topic, records, seconds), daemon=True)

    def __enter__(self) -> "Feeder":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.send_the_rest()

    def send_the_rest(self) -> None:
        """At once; returns when Kafka has them all."""
        self._hurry.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self, kafka: LoopbackKafka, topic: str, records: Sequence[Sent], seconds: float) -> None:
        try:
            send(kafka, topic, records, lambda: self._hurry.wait(seconds / len(records)))
        except BaseException as error:
            self._failure = error


def send(
    kafka: LoopbackKafka, topic: str, records: Iterable[Sent], between: Callable[[], object] = lambda: None
) -> None:
    """In this order; returns when Kafka has them all."""
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all", linger_ms=5)
    try:
        waiting = []
        for record in records:
            waiting.append(producer.send(topic, record.value, record.key, partition=record.partition))
            between()
        for sent in waiting:
            sent.get(timeout=30)
    finally:
        producer.close()


def end_offsets(kafka: LoopbackKafka, topic: str) -> dict[str, int]:
    """The offset after the newest record of each partition, as a checkpoint names them."""
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, enable_auto_commit=False)
    try:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        return {str(one.partition): offset for one, offset in consumer.end_offsets(partitions).items()}
    finally:
        consumer.close()


def received(kafka: LoopbackKafka, topic: str) -> list[Sent]:
    """Everything in the topic, partition by partition."""
    ends = end_offsets(kafka, topic)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    try:
        consumer.assign([TopicPartition(topic, int(number)) for number in ends])
        records: list[Sent] = []
        while len(records) < sum(ends.values()):
            for found in consumer.poll(1000).values():
                records += [Sent(record.key, record.value, record.partition) for record in found]
        return records
    finally:
        consumer.close()


def folded(*parts: tuple[Sequence[Sent], Settings]) -> list[Fact]:
    """The groups' facts of the records by the core alone, each part under its own settings."""
    blob, facts = None, []
    for records, settings in parts:
        done = fold(blob, [_arrived(record) for record in records], settings)
        blob = done.blob
        facts += [fact for fact in done.facts if not isinstance(fact.payload, QuarantineFact)]
    return sorted(facts, key=fact_order)


def _arrived(record: Sent) -> Record:
    return Record(record.key, record.value, len(record.value or b""), None, now_ms(), "", 0, 0)
