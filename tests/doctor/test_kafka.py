"""A real Kafka: a topic as it should be, one with faults, and its clock by records that arrive."""

import json
from collections.abc import Iterator, Mapping
from threading import Event, Thread

import pytest
from kafka import KafkaProducer

from streaming.config.sections import Config
from streaming.doctor import kafka as asking
from streaming.doctor.checks import PROCESSES, Check, Processes, Verdict
from streaming.loopback import LoopbackKafka

pytestmark = pytest.mark.kafka
ALL = frozenset(PROCESSES)
NOWHERE = "127.0.0.1:1"


def looked(servers: str, topic: str, processes: Processes = ALL, **collector: object) -> Mapping[str, Check]:
    sections = {"source": {"bootstrap_servers": servers, "topic": topic}, "collector": collector}
    return {check.what: check for check in asking.checks(Config.model_validate(sections), processes)}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "RECORD_WITHIN_S", 0.2)


@pytest.mark.slow("a folder of a release is unpacked")
@pytest.mark.usefixtures("quick")
def test_topic_as_it_should_be(kafka: LoopbackKafka) -> None:
    kafka.create_topic("doctor-good", 4, {"message.timestamp.type": "LogAppendTime"})
    found = looked(kafka.bootstrap_servers, "doctor-good")
    assert found["topic"].found == "4 partitions, 1 copy of each"
    assert found["rights"].found == "Write, Read permitted"
    assert {name for name, check in found.items() if check.verdict is not Verdict.FINE} == {"clock"}
    assert "no record came" in found["clock"].found


def test_topic_with_faults(kafka: LoopbackKafka) -> None:
    settings = {
        "retention.ms": "3600000",
        "cleanup.policy": "compact",
        "max.message.bytes": "1000",
        "min.insync.replicas": "2",
    }
    kafka.create_topic("doctor-bad", 1, settings)
    found = looked(kafka.bootstrap_servers, "doctor-bad")
    wrong = {name for name, check in found.items() if check.verdict is Verdict.WRONG}
    assert wrong == {"retention", "cleanup.policy", "record size", "replicas"}
    assert found["retention"].found.startswith("60 min")
    assert found["clock"].verdict is Verdict.UNKNOWN, "CreateTime is the time of producers"
    assert "CreateTime" in found["clock"].found


def test_topic_that_is_missing_is_not_made(kafka: LoopbackKafka) -> None:
    for _ in range(2):  # a request for its metadata has not made it
        found = looked(kafka.bootstrap_servers, "doctor-missing")
        assert found["topic"].verdict is Verdict.WRONG
        assert "--create --topic doctor-missing" in found["topic"].mend


@pytest.fixture
def arriving(kafka: LoopbackKafka) -> Iterator[str]:
    """A topic to which a record comes all the time."""
    kafka.create_topic("doctor-clock", 2, {"message.timestamp.type": "LogAppendTime"})
    stop = Event()

    def send() -> None:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        while not stop.wait(0.2):
            producer.send("doctor-clock", json.dumps({}).encode())
            producer.flush()
        producer.close()

    thread = Thread(target=send)
    thread.start()
    yield "doctor-clock"
    stop.set()
    thread.join()


@pytest.mark.slow("a folder of a release is unpacked")
def test_clock_of_kafka(kafka: LoopbackKafka, arriving: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(kafka.bootstrap_servers, arriving)["clock"].verdict is Verdict.FINE
    real = asking.now_ms
    for ahead_ms, word in ((-90_000, "ahead of"), (90_000, "behind")):  # of this machine
        monkeypatch.setattr(asking, "now_ms", lambda ahead_ms=ahead_ms: real() + ahead_ms)
        skewed = looked(kafka.bootstrap_servers, arriving)["clock"]
        assert skewed.verdict is Verdict.WRONG
        assert word in skewed.found


def test_kafka_that_is_away() -> None:
    found = looked(NOWHERE, "doctor-away")
    assert list(found) == ["broker"]
    assert found["broker"].verdict is Verdict.WRONG
    assert "source.bootstrap_servers" in found["broker"].mend


def test_login_that_only_java_knows_is_not_tried(kafka: LoopbackKafka) -> None:
    secured = {"security.protocol": "SASL_SSL", "sasl.jaas.config": "x"}
    source = {"bootstrap_servers": kafka.bootstrap_servers, "kafka": secured}
    found = {check.what: check for check in asking.checks(Config.model_validate({"source": source}), ALL)}
    assert found["topic"].verdict is Verdict.UNKNOWN
    assert "[collector.kafka]" in found["topic"].mend
