"""Questions to Kafka, with the options that Spark's source uses, so that TLS and SASL work alike."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from streaming.spark.sources import KafkaSource


class Brokers:
    """The Kafka that a source reads from. Each question is a connection of its own: they are rare."""

    def __init__(self, spark: SparkSession, source: KafkaSource) -> None:
        self._jvm: Any = spark._jvm
        options = source.reader_options()
        self._settings = {
            name.removeprefix("kafka."): value for name, value in options.items() if name.startswith("kafka.")
        }

    def partitions(self, topic: str) -> list[int]:
        """The topic's partitions; none where there is no such topic."""
        with self._consumer() as consumer:
            return sorted(int(found.partition()) for found in consumer.partitionsFor(topic))

    def earliest(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """The first offset that each still holds; a partition that is no longer there has none."""
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

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        properties = self._jvm.java.util.Properties()
        properties.put("allow.auto.create.topics", "false")
        for name, value in self._settings.items():
            properties.put(name, value)
        as_bytes = self._jvm.org.apache.kafka.common.serialization.ByteArrayDeserializer
        consumer = self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties, as_bytes(), as_bytes())
        try:
            yield consumer
        finally:
            consumer.close()
