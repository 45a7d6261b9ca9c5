"""The whole query over a real Kafka: what arrives, what is lost on the way, and what floods it."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.structs import TopicPartition
from pyspark.sql import functions as F

from schemas.events import encode_event
from schemas.facts import HealthFact, QuarantineFact
from streaming.config.sections import Source
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import QUARANTINE_FACTS_AT_MOST
from streaming.errors import AwayError, ConfigError
from streaming.spark.kafka_offsets import Brokers
from tests.core.test_flood import IN_ZEROS, ZEROS
from tests.spark.pipeline import Pipeline, fleet, folded

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(600)]
MEGABYTE = 1_000_000


@pytest.fixture
def topic(kafka, request):
    name = request.node.name.replace("[", "-").replace("]", "")
    kafka.create_topic(name, partitions=2)
    return name


@pytest.fixture
def pipeline(spark, kafka, topic, tmp_path):
    return Pipeline(spark, tmp_path, Source(topic=topic, bootstrap_servers=kafka.bootstrap_servers))


def send(source: Source, records: Sequence[tuple[bytes | None, bytes | None]], partition: int | None = None) -> None:
    with closing(KafkaProducer(bootstrap_servers=source.bootstrap_servers, compression_type="gzip")) as producer:
        for key, value in records:
            producer.send(source.topic, key=key, value=value, partition=partition)
        producer.flush()


def send_events(source, events, partition=None):
    send(source, [(f"{event.cluster}/{event.group}".encode(), encode_event(event)) for event in events], partition)


def drop_before(source: Source, offset: int, partition: int = 0) -> None:
    """What retention does, now."""
    with closing(KafkaAdminClient(bootstrap_servers=source.bootstrap_servers)) as admin:
        admin.delete_records({TopicPartition(source.topic, partition): offset})


def about_groups(facts):
    return [fact for fact in facts if not isinstance(fact.payload, QuarantineFact | HealthFact)]


@pytest.fixture
def lz4_topic(kafka, request):
    """The broker packs what comes."""
    name = request.node.name
    kafka.create_topic(name, config={"compression.type": "lz4"})
    return name


def compression_codec(kafka, topic: str) -> int:
    """Of the first batch in the broker's file: 3 is lz4 (RecordBatch's attributes, at its 22nd byte)."""
    (file,) = Path(kafka.log_file.parent, "records", f"{topic}-0").glob("*.log")
    return file.read_bytes()[22] & 0x07


def test_records_become_the_facts_of_the_core_and_a_flood_of_bad_ones_harms_nobody(spark, kafka, lz4_topic, tmp_path):
    pipeline = Pipeline(spark, tmp_path, Source(topic=lz4_topic, bootstrap_servers=kafka.bootstrap_servers))
    events = fleet().events
    half = len(events) // 2
    send_events(pipeline.source, events[:half])
    pipeline.run()
    assert compression_codec(kafka, lz4_topic) == 3
    bad = [(b"c/g", None), (None, encode_event(events[0])), (b"c/other", encode_event(events[0]))]
    large = [(b"c/g", b"x" * 200_000), (b"c/g", ZEROS), (b"c/" + b"g" * 900_000, b"{")]
    flood = [(b"c/g", b"{")] * (2 * QUARANTINE_FACTS_AT_MOST)
    send(pipeline.source, [*bad, *large, *flood])
    send_events(pipeline.source, events[half:])
    pipeline.run()
    facts = pipeline.facts()
    assert about_groups(facts) == folded((events, DEFAULT_SETTINGS))
    told = [fact.payload for fact in facts if isinstance(fact.payload, QuarantineFact)]
    assert {one.reason for one in told} >= {"bad_json", "key_mismatch", "null_value", "too_long"}
    assert QUARANTINE_FACTS_AT_MOST < len(told) < len(flood), "of a shard and batch; others are counted"
    assert sum(one.events for one in told) == len(bad) + len(large) - 1 + IN_ZEROS + len(flood)


def test_records_that_kafka_dropped_are_told_once_unless_they_were_read(pipeline):
    events = fleet().events
    send_events(pipeline.source, events[:20], partition=0)
    pipeline.run()
    drop_before(pipeline.source, 20)
    send_events(pipeline.source, events[20:40], partition=0)
    pipeline.run()
    assert pipeline.health() == []
    assert about_groups(pipeline.facts()) == folded((events[:40], DEFAULT_SETTINGS))
    send_events(pipeline.source, events[40:70], partition=0)
    drop_before(pipeline.source, 65)
    pipeline.run()
    send_events(pipeline.source, events[70:], partition=0)
    pipeline.run()
    lost = [one for one in pipeline.health() if one.records_lost]
    assert [(one.status, one.records_lost) for one in lost] == [("data_lost", 25)]
    assert f"25 of {pipeline.source.topic}-0" in lost[0].detail
    assert any(fact.payload.fact == "events_lost" for fact in pipeline.facts())


@pytest.mark.deep("3,000 records of 1 MB")
def test_a_flood_of_large_records_in_one_shard_is_quarantined_and_its_neighbours_are_judged(spark, pipeline):
    count = 3_000
    flood = spark.range(count).select(F.lit("c/g").alias("key"), F.repeat(F.lit("x"), MEGABYTE).alias("value"))
    writer = flood.write.format("kafka").option("kafka.bootstrap.servers", pipeline.source.bootstrap_servers)
    writer.option("topic", pipeline.source.topic).option("kafka.compression.type", "gzip").option(
        "kafka.max.request.size", 2 * MEGABYTE
    ).save()
    events = [*fleet("g").events, *fleet("h").events]
    send_events(pipeline.source, events)
    pipeline.run()
    found = spark.read.format("delta").load(f"{pipeline.plan().tables}/facts").where("fact = 'quarantine'")
    kinds = (
        found.groupBy("quarantine.reason", "quarantine.length", F.octet_length("quarantine.bytes")).count().collect()
    )
    assert [tuple(row)[:3] for row in kinds] == [("too_long", MEGABYTE, 65_536)]
    assert kinds[0]["count"] < count
    assert found.agg(F.sum("quarantine.events")).first()[0] == count
    others = spark.read.format("delta").load(f"{pipeline.plan().tables}/facts").where("fact != 'quarantine'")
    judged = others.where("NOT group_status.reason <=> 'EVENTS_REFUSED'")  # said where the flood took a minute to write
    assert judged.count() == len(folded((events, DEFAULT_SETTINGS)))


@pytest.mark.deep("300 records of 1 MB")
def test_three_hundred_records_of_countless_elements_and_keys_stop_no_job(pipeline):
    events = [*fleet("g").events, *fleet("h").events]
    long_keys = [(b"c/" + b"g" * 900_000, b"{")] * 20
    send(pipeline.source, [(b"c/g", ZEROS)] * 300 + long_keys)
    send_events(pipeline.source, events)
    pipeline.run()
    facts = pipeline.facts()
    told = [fact.payload for fact in facts if isinstance(fact.payload, QuarantineFact)]
    assert len(told) <= 4 * (QUARANTINE_FACTS_AT_MOST + 2)  # a shard and batch
    assert sum(one.events for one in told) == 300 * IN_ZEROS + len(long_keys)
    judged = [fact for fact in about_groups(facts) if fact.group == "h"]
    assert judged == [fact for fact in folded((events, DEFAULT_SETTINGS)) if fact.group == "h"]


def test_kafka_is_asked_with_the_options_of_the_source(spark, kafka, topic):
    brokers = Brokers(spark, Source(topic=topic, bootstrap_servers=kafka.bootstrap_servers))
    assert brokers.partitions() == [0, 1]
    assert brokers.earliest([(topic, 0), (topic, 7)]) == {(topic, 0): 0}
    assert brokers.ends(10) == {(topic, 0): 0, (topic, 1): 0}
    options = {"security.protocol": "NO_SUCH_PROTOCOL"}
    refused = Source.model_validate({"topic": topic, "bootstrap_servers": kafka.bootstrap_servers, "kafka": options})
    with pytest.raises(ConfigError, match="NO_SUCH_PROTOCOL"):
        Brokers(spark, refused).partitions()


def test_a_topic_that_is_not_there_is_one_clear_message(spark, kafka, tmp_path):
    pipeline = Pipeline(spark, tmp_path, Source(topic="no-such-topic", bootstrap_servers=kafka.bootstrap_servers))
    with pytest.raises(AwayError, match="there is no topic no-such-topic"):
        pipeline.run()


@pytest.mark.parametrize("servers", ["no-such-host.invalid:9092", "one.invalid:9092,two.invalid:9092"])
def test_a_name_that_is_not_resolved_now_may_be_later(spark, servers):
    with pytest.raises(AwayError, match=f"Kafka at {servers} does not answer: no name server knows these hosts now"):
        Brokers(spark, Source(topic="t", bootstrap_servers=servers)).partitions()


def test_an_lz4_without_known_faults_comes_before_the_one_in_spark_s_own_folder(spark):
    """Spark has lz4-java 1.8.0, and Java takes the first one that it finds."""
    java = spark.sparkContext._jvm.java
    loader = java.lang.Thread.currentThread().getContextClassLoader()

    def jar_of(name: str) -> str:
        return str(loader.loadClass(name).getProtectionDomain().getCodeSource().getLocation()).rpartition("/")[2]

    assert jar_of("net.jpountz.lz4.LZ4Factory") == "lz4-java-1.10.1.jar"
    assert jar_of("org.apache.kafka.clients.consumer.KafkaConsumer") == "kafka-clients-3.9.2.jar"
