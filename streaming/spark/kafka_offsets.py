"""Kafka's offsets: asked of the brokers, compared with what was read, and watched beside the batches.

Kafka is asked with the options that Spark's source uses, so that TLS and SASL work alike.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streaming.config.sections import Source
from streaming.errors import AwayError, ConfigError, MonitorError
from streaming.spark.checkpoint import Offsets
from streaming.spark.failure import root_of
from streaming.spark.operator import RecordsRead
from streaming.spark.sources import reader_options

log = logging.getLogger(__name__)

UNRESOLVED = "No resolvable bootstrap urls"  # Kafka's client takes that for a wrong configuration
ANSWER_WITHIN_S = 10  # a broker that is busy may need seconds
ASK_EVERY_S = 5.0
Partition = tuple[str, int]
EarliestOffsets = Callable[[Collection[Partition]], Mapping[Partition, int]]


class Brokers:
    """The Kafka that a source reads from. Each question opens a connection, because questions are rare."""

    def __init__(self, spark: SparkSession, source: Source) -> None:
        self._jvm: Any = spark._jvm
        self._source = source
        options = reader_options(source)
        self._settings = {
            name.removeprefix("kafka."): value for name, value in options.items() if name.startswith("kafka.")
        }

    def partitions(self) -> list[int]:
        """The partitions of the source's topic; empty if there is no such topic."""
        with self._consumer() as consumer:
            return sorted(int(found.partition()) for found in consumer.partitionsFor(self._source.topic))

    def require_topic(self) -> None:
        """Raise AwayError unless the topic is there: somebody may create it later."""
        if not self.partitions():
            raise AwayError.of_topic(self._source.topic, self._source.bootstrap_servers)

    def earliest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        """The first offset that each partition still has; a partition that is gone has no entry."""
        if not partitions:
            return {}
        with self._consumer() as consumer:
            found = [one for topic in {topic for topic, _ in partitions} for one in consumer.partitionsFor(topic)]
            known = [one for one in found if (str(one.topic()), int(one.partition())) in partitions]
            return _by_partition(consumer.beginningOffsets(self._topic_partitions(known)))

    def ends(self, within_s: float) -> dict[Partition, int]:
        """The offset after the newest record of each partition of the topic.

        Raises AwayError where no answer comes in time.
        """
        within = self._jvm.java.time.Duration.ofMillis(round(within_s * 1000))
        with self._consumer() as consumer:
            found = self._topic_partitions(consumer.partitionsFor(self._source.topic, within))
            return _by_partition(consumer.endOffsets(found, within))

    def _topic_partitions(self, found: Iterable[Any]) -> Any:
        wanted = self._jvm.java.util.ArrayList()
        for one in found:
            wanted.add(self._jvm.org.apache.kafka.common.TopicPartition(one.topic(), one.partition()))
        return wanted

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        properties = self._jvm.java.util.Properties()
        properties.put("allow.auto.create.topics", "false")
        for name, value in self._settings.items():
            properties.put(name, value)
        as_bytes = self._jvm.org.apache.kafka.common.serialization.ByteArrayDeserializer
        try:
            consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties, as_bytes(), as_bytes())
            try:
                yield consumer
            finally:
                consumer.close(self._jvm.java.time.Duration.ofSeconds(1))
        except Py4JJavaError as error:
            servers, root = self._settings.get("bootstrap.servers"), root_of(error.java_exception)
            if UNRESOLVED in root:
                raise AwayError(
                    f"Kafka at {servers} does not answer: no name server knows these hosts now. Mend "
                    "source.bootstrap_servers if they are named wrongly"
                ) from error
            if root.startswith("ConfigException"):
                raise ConfigError(f"[source.kafka]: Kafka's consumer refuses these options: {root}") from error
            raise AwayError(f"Kafka at {servers} does not answer: {root}") from error


def _by_partition(offsets: Any) -> dict[Partition, int]:
    return {(str(one.topic()), int(one.partition())): int(offset) for one, offset in offsets.items()}


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


class KafkaSeen(NamedTuple):
    """Kafka's last answer. ``answered_ts``: when it came; ``error``: the error of the last question, None: it answered.

    ``ends``: where each partition ended then, and since ``quiet_since_ts`` all have been seen to end there. Times are
    epoch ms by the job's clock; None: it has not answered since the job started.
    """

    answered_ts: int | None = None
    quiet_since_ts: int | None = None
    ends: Mapping[Partition, int] = {}
    error: str | None = None

    def unread(self, position: Offsets) -> int | None:
        """The number of records after ``position``, up to which the job has read; None: not known."""
        if self.answered_ts is None:
            return None
        read = flat(position)
        return sum(max(0, end - max(0, read.get(partition, 0))) for partition, end in self.ends.items())


class KafkaWatch:
    """``ends`` asks Kafka, and raises MonitorError where no answer comes within so many seconds.

    Its thread alone calls ``ask``.
    """

    def __init__(self, ends: Callable[[float], Mapping[Partition, int]], now_ms: Callable[[], int]) -> None:
        self.seen = KafkaSeen()
        self._ends, self._now_ms = ends, now_ms

    def ask(self) -> None:
        try:
            ends = self._ends(ANSWER_WITHIN_S)
        except MonitorError as error:
            self.seen = self.seen._replace(error=str(error).splitlines()[0])
            return
        now, before = self._now_ms(), self.seen
        is_quiet = before.quiet_since_ts is not None and ends == before.ends
        self.seen = KafkaSeen(now, before.quiet_since_ts if is_quiet else now, ends)

    def start(self, stop: Event, every_s: float = ASK_EVERY_S) -> Thread:
        """Ask in a separate thread until ``stop``, so that a Kafka that is away does not delay the health facts."""

        def run() -> None:
            while not stop.is_set():
                try:
                    self.ask()
                except Exception as error:
                    if not stop.is_set():  # Java may be gone by then
                        log.warning("Kafka could not be asked for its topic's end: %s", str(error).split("\n", 1)[0])
                stop.wait(every_s)

        thread = Thread(target=run, name="kafka-watch", daemon=True)
        thread.start()
        return thread
