"""Events into a real Kafka that goes away and comes back, and another collector that is seen in its topic."""

import gc
import logging
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event, Semaphore

import pytest
from kafka import KafkaConsumer, TopicPartition

from schemas.events import AnyEvent, Round
from schemas.records import group_key
from streaming.collector.output.kafka import KafkaOutput, make_producer, opened
from streaming.collector.output.other_collectors import OtherCollectorCheck, other_collectors
from streaming.config.sections import Source
from streaming.loopback import LoopbackKafka
from testing.records import accepted, records_of
from testing.waiting import until
from tests.core.fleet import Fleet

pytestmark = [
    pytest.mark.kafka,
    # kafka-python leaves the socket of an attempt that failed to Python's collector
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
TOPIC = "events"


def rounds_of(group: str, source: str) -> list[AnyEvent]:
    fleet = Fleet(group=group)
    fleet.source = source
    fleet.join("x", "y")
    return fleet.run(60).events


@pytest.fixture
def own_kafka(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[LoopbackKafka]:
    caplog.set_level(logging.CRITICAL, "kafka")  # its log records keep sockets alive
    with LoopbackKafka(tmp_path) as started:
        started.create_topic(TOPIC, partitions=2)
        yield started
    gc.collect()  # here, where the warnings are expected


def output_to(broker: LoopbackKafka, topic: str) -> KafkaOutput:
    output = KafkaOutput(partial(make_producer, broker.bootstrap_servers, {}), topic, 1 << 24)
    output.start()
    return output


def read(broker: LoopbackKafka) -> list[tuple[bytes, AnyEvent]]:
    records = records_of(broker.bootstrap_servers, TOPIC)
    return [(record.key, event) for record in records for event in accepted(record.key, record.value)]


def test_what_is_told_while_kafka_is_away_arrives_afterwards_once_and_in_order(own_kafka: LoopbackKafka) -> None:
    events = rounds_of("orders", "one")
    half = len(events) // 2
    output = output_to(own_kafka, TOPIC)
    output.emit(events[:half])
    until(lambda: output.sent == half)
    own_kafka.stop()
    output.emit(events[half:])
    own_kafka.start()
    until(lambda: output.sent == len(events))
    output.close(10)

    arrived = read(own_kafka)
    assert {key for key, _ in arrived} == {group_key("c", "orders").encode()}
    assert [event for _, event in arrived] == events


@pytest.mark.deep("a Kafka of its own is stopped, and its last answer must come in time")
def test_a_producer_is_quiet_while_no_partition_has_a_leader(own_kafka: LoopbackKafka) -> None:
    # as long as Kafka stops, it answers that no partition has a leader
    producer = make_producer(own_kafka.bootstrap_servers, {"metadata_max_age_ms": 50})
    with closing(producer):
        producer.send(TOPIC, b"before", partition=0).get(30)
        client, turned = producer._sender._client, Semaphore(0)
        poll = client.poll

        def counted(timeout_ms: float) -> object:
            turned.release()
            return poll(timeout_ms=timeout_ms)

        own_kafka.stop()
        assert producer._metadata.leader_for_partition(TopicPartition(TOPIC, 0)) == -1
        client.poll = counted
        began_s = time.monotonic()
        assert all(turned.acquire(timeout=60) for _ in range(100))
        assert time.monotonic() - began_s >= 1  # without our client's care: a hundredth of it
        own_kafka.start()
        assert producer.send(TOPIC, b"after", partition=0).get(60).offset == 1


def test_another_collector_of_the_cluster_is_seen(kafka: LoopbackKafka) -> None:
    topic = "two-collectors"
    kafka.create_topic(topic, partitions=2)
    output = output_to(kafka, topic)
    for group, source in (("orders", "one"), ("payments", "two")):
        output.emit(rounds_of(group, source))
    output.close(20)
    lookout = OtherCollectorCheck(
        Source(bootstrap_servers=kafka.bootstrap_servers, topic=topic), {}, lambda *_: None, Event()
    )
    newest = [value for turn in range(2) for value in lookout.newest_values(turn)]

    told = [event for value in newest for event in accepted(None, value)]
    assert {event.group for event in told if isinstance(event, Round)} == {"orders", "payments"}
    assert other_collectors(newest, lambda cluster, _: {"c": "one"}.get(cluster)) == {"c": {"two"}}
    assert other_collectors(newest, lambda cluster, _: {"another": "three"}.get(cluster)) == {}


def test_a_consumer_that_closes_while_its_thread_begins_to_wait_for_an_answer_logs_no_error(
    kafka: LoopbackKafka, caplog: pytest.LogCaptureFixture
) -> None:
    consumer = opened(KafkaConsumer, {"bootstrap_servers": kafka.bootstrap_servers, "enable_auto_commit": False})
    selector, begins = consumer._client._net, Event()
    wait_read = selector._wait_read

    def begin_slowly(*args: object) -> None:
        begins.set()
        time.sleep(0.2)
        wait_read(*args)

    selector._wait_read = begin_slowly
    consumer._client.cluster.request_update()  # after this answer the thread waits for the next one
    assert begins.wait(60)
    consumer._client.close()
    said = [line for line in caplog.records if line.name == "kafka.net.selector" and line.levelno >= logging.ERROR]
    assert not said
