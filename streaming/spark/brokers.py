"""Questions to Kafka, with the options that Spark's source uses, so that TLS and SASL work alike."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streaming.errors import AwayError, ConfigError
from streaming.spark.failure import root_of
from streaming.spark.sources import KafkaSource

UNRESOLVED = "No resolvable bootstrap urls"  # Kafka's client takes that for a wrong configuration


class Brokers:
    """The Kafka that a source reads from. Each question opens a connection, because questions are rare."""

    def __init__(self, spark: SparkSession, source: KafkaSource) -> None:
        self._jvm: Any = spark._jvm
        self._source = source
        options = source.reader_options()
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
            raise AwayError(
                f"there is no topic {self._source.topic} at {self._source.bootstrap_servers}: create it, or mend "
                "source.topic"
            )

    def earliest(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """The first offset that each partition still has; a partition that is gone has no entry."""
        if not partitions:
            return {}
        with self._consumer() as consumer:
            wanted = self._jvm.java.util.ArrayList()
            for topic in {topic for topic, _ in partitions}:
                for found in consumer.partitionsFor(topic):
                    if (topic, int(found.partition())) in partitions:
                        wanted.add(self._jvm.org.apache.kafka.common.TopicPartition(topic, found.partition()))
            first = consumer.beginningOffsets(wanted)
            return {(str(one.topic()), int(one.partition())): int(first.get(one)) for one in wanted}

    def ends(self, within_s: float) -> dict[tuple[str, int], int]:
        """The offset after the newest record of each partition of the topic.

        Raises AwayError where no answer comes in time.
        """
        within = self._jvm.java.time.Duration.ofMillis(round(within_s * 1000))
        with self._consumer() as consumer:
            wanted = self._jvm.java.util.ArrayList()
            for found in consumer.partitionsFor(self._source.topic, within):
                wanted.add(self._jvm.org.apache.kafka.common.TopicPartition(self._source.topic, found.partition()))
            ends = consumer.endOffsets(wanted, within)
            return {(str(one.topic()), int(one.partition())): int(ends.get(one)) for one in wanted}

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
