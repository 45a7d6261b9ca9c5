"""The loopback broker is a real one, keeps what it should and leaves nothing behind."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import psutil
import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import MessageSizeTooLargeError

from streaming.errors import SetupError
from streaming.loopback import LoopbackKafka

pytestmark = pytest.mark.kafka


@pytest.mark.deep("a Kafka of its own for each test")
def test_records_come_back_in_order_with_their_keys(kafka: LoopbackKafka) -> None:
    kafka.create_topic("round-trip", partitions=1)
    send(kafka, "round-trip", [b"one", b"two", b"three"])
    assert received(kafka, "round-trip", 3) == [(b"key", b"one"), (b"key", b"two"), (b"key", b"three")]


@pytest.mark.deep("a Kafka of its own for each test")
def test_topic_has_the_partitions_and_configuration_asked_for(kafka: LoopbackKafka) -> None:
    kafka.create_topic("three-ways", partitions=3, config={"max.message.bytes": "100"})
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)
    assert consumer.partitions_for_topic("three-ways") == {0, 1, 2}
    consumer.close()
    with pytest.raises(MessageSizeTooLargeError):
        send(kafka, "three-ways", [b"x" * 1000])


@pytest.mark.deep("a Kafka of its own for each test")
def test_stop_leaves_no_process_and_the_records_in_a_folder_that_was_named(tmp_path: Path) -> None:
    with LoopbackKafka(tmp_path) as broker:
        broker.create_topic("kept")
        send(broker, "kept", [b"before"])
        assert brokers_in(tmp_path)
    assert not brokers_in(tmp_path)
    scratch = LoopbackKafka()
    assert scratch.log_file.parent.exists()
    scratch.stop()
    assert not scratch.log_file.parent.exists()
    with LoopbackKafka(tmp_path) as broker:
        send(broker, "kept", [b"after"])
        assert [value for _, value in received(broker, "kept", 2)] == [b"before", b"after"]


@pytest.mark.deep("a Kafka of its own for each test")
def test_broker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = "import sys, time; from pathlib import Path; from streaming.loopback import LoopbackKafka;"
    script += "LoopbackKafka(Path(sys.argv[1])).start(); print('up', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.send_signal(signal.SIGKILL)
    assert eventually(lambda: not brokers_in(tmp_path))


@pytest.mark.deep("a Kafka of its own for each test")
def test_refused_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"could not format .*Invalid value never"):
        LoopbackKafka(tmp_path, properties={"log.retention.ms": "never"}).start()


@pytest.mark.deep("a Kafka of its own for each test")
def test_failed_start_shows_the_end_of_the_log(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        broker = LoopbackKafka(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(SetupError, match=r"(?s)ended while starting.*Address already in use"):
            broker.start()
    assert not brokers_in(tmp_path)


@pytest.mark.deep("a Kafka of its own for each test")
def test_slow_start_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"did not answer within 0\.1 s"):
        LoopbackKafka(tmp_path, ready_within_s=0.1).start()
    assert not brokers_in(tmp_path)


def send(broker: LoopbackKafka, topic: str, values: list[bytes]) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    try:
        for sent in [producer.send(topic, key=b"key", value=value) for value in values]:
            sent.get(timeout=10)
    finally:
        producer.close()


def received(broker: LoopbackKafka, topic: str, count: int) -> list[tuple[bytes, bytes]]:
    consumer = KafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest", consumer_timeout_ms=10_000
    )
    try:
        return [(record.key, record.value) for record in islice(consumer, count)]
    finally:
        consumer.close()


def brokers_in(folder: Path) -> list[psutil.Process]:
    """The processes, shells included, that were started for a broker of this folder."""
    return [p for p in psutil.process_iter(["cmdline"]) if f"{folder}/server.properties" in (p.info["cmdline"] or [])]


def eventually(condition: Callable[[], bool], within_s: float = 15) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()
