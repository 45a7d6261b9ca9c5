"""Events into Kafka by a thread: a Kafka that is away, comes back, refuses; and that telling never waits."""

import gc
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka.future import Future

from streaming.collector.output import kafka as output_kafka
from streaming.collector.output.kafka import KafkaOutput, make_producer, opened
from streaming.collector.output.other_collectors import other_collectors
from testing.records import accepted
from testing.waiting import until
from tests.collector.test_backlog import marker, report

MUCH = 1 << 30
OPEN_FILES = Path("/proc/self/fd")


class FakeProducer:
    """``is_away``: takes nothing. ``acknowledges`` false: takes, and never says that it arrived."""

    def __init__(self) -> None:
        self.is_away = False
        self.acknowledges = True
        self.refuses = False
        self.sent: list[tuple[str, bytes, bytes]] = []
        self.is_closed = False

    def send(self, topic: str, *, key: bytes, value: bytes) -> Any:
        if self.is_away:
            raise KafkaTimeoutError("no metadata")
        future = Future()
        self.sent.append((topic, key, value))
        if self.refuses:
            future.failure(KafkaTimeoutError("too late"))
        elif self.acknowledges:
            future.success(None)
        return future

    def close(self, timeout: float | None = None) -> None:
        self.is_closed = True


def running(producer: FakeProducer, limit_bytes: int = MUCH) -> KafkaOutput:
    output = KafkaOutput(lambda: producer, "events", limit_bytes)
    output.start()
    return output


def test_events_arrive_in_order_under_their_groups_key() -> None:
    producer = FakeProducer()
    output = running(producer)
    output.emit([report(0), marker(1)])
    output.emit([])
    output.emit([marker(2)])
    output.close(5)
    sent = [(topic, key, [event.seq for event in accepted(key, value)]) for topic, key, value in producer.sent]
    assert sent == [("events", b"prod/g", [0, 1]), ("events", b"prod/g", [2])]
    assert (output.sent, producer.is_closed) == (3, True)


def test_kafka_that_is_away_is_said_and_caught_up_with(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    producer = FakeProducer()
    producer.is_away = True
    output = running(producer)
    for seq in range(100):
        output.emit([marker(seq)])
    until(lambda: "Kafka is away: " in caplog.text)
    producer.is_away = False
    until(lambda: len(producer.sent) == 100)
    output.close(5)
    assert caplog.text.count("Kafka is away: ") == 1
    assert "Kafka takes events again" in caplog.text


@pytest.mark.slow("time-outs pass")
def test_kafka_that_acknowledges_nothing_is_away(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_kafka, "AWAY_AFTER_S", 0.05)
    monkeypatch.setattr(output_kafka, "MAX_BYTES_IN_FLIGHT", 100)
    producer = FakeProducer()
    producer.acknowledges = False
    output = running(producer)
    output.emit([marker(seq) for seq in range(3_000)])
    until(lambda: "acknowledged nothing" in caplog.text)
    assert len(producer.sent) <= output_kafka.BATCH
    output.close(0.1)
    assert "3000 events were not taken by Kafka" in caplog.text


def test_refused_event_is_said_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    producer = FakeProducer()
    producer.refuses = True
    output = running(producer)
    output.emit([marker(0)])
    until(lambda: "which is lost: " in caplog.text)
    producer.refuses = False
    output.emit([marker(1)])
    until(lambda: output.sent == 1)
    output.close(5)


def test_kafka_may_come_later_than_the_collector(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_kafka, "RETRY_AFTER_S", 0.01)
    producer, attempts = FakeProducer(), []

    def connect() -> FakeProducer:
        attempts.append(1)
        if len(attempts) < 3:
            raise KafkaConnectionError("nobody there")
        return producer

    output = KafkaOutput(connect, "events", MUCH)
    output.start()
    output.emit([marker(0)])
    until(lambda: producer.sent)
    output.close(5)
    assert "nobody there" in caplog.text


class FaultyProducer(FakeProducer):
    """``faults``: what ``send`` raises next. ``closes`` false: it has records that Kafka does not acknowledge."""

    def __init__(self, *faults: Exception, closes: bool = True) -> None:
        super().__init__()
        self.faults = list(faults)
        self.closes = closes

    def send(self, topic: str, *, key: bytes, value: bytes) -> Any:
        if self.faults:
            raise self.faults.pop(0)
        return super().send(topic, key=key, value=value)

    def close(self, timeout: float | None = None) -> None:
        if not self.closes and timeout != 5:
            raise KafkaTimeoutError("Timeout waiting for future")
        super().close(timeout)


@pytest.mark.parametrize("closes", [True, False])
def test_an_error_of_kafka_python_itself_costs_one_record_and_not_the_thread(
    closes: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others go on by a new producer, or by the same one where that still has records to send."""
    monkeypatch.setattr(output_kafka, "RETRY_AFTER_S", 0.05)
    faulty, sound = FaultyProducer(ValueError("Partitioner did not assign"), closes=closes), FakeProducer()
    refusals: list[Exception] = [KeyError("broker"), KafkaConnectionError("nobody there")]
    producers = iter([faulty, sound])

    def connect() -> FakeProducer:
        if refusals:
            raise refusals.pop(0)
        return next(producers)

    output = KafkaOutput(connect, "events", MUCH)
    output.emit([marker(seq) for seq in range(3)])
    output.start()
    used = sound if closes else faulty
    until(lambda: len(used.sent) == 2)
    until(lambda: not output.is_away)
    output.close(5)
    assert [event.seq for _, key, value in used.sent for event in accepted(key, value)] == [1, 2]
    assert (output.losses, used.is_closed) == (1, True), "what was lost is told again"
    assert caplog.text.count("events cannot be sent to Kafka; the next try is in") == 2
    assert "ValueError: Partitioner did not assign" in caplog.text


@pytest.mark.slow("time-outs pass")
def test_it_goes_on_while_kafka_is_away_and_not_while_kafka_python_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_kafka, "RETRY_AFTER_S", 0.01)
    goes_on, away = threading.Event(), FakeProducer()
    steps, hangs = list[threading.Thread](), list[threading.Thread]()
    refusals = [KafkaConnectionError("nobody there")] * 5

    class Hanging(FakeProducer):
        def send(self, topic: str, *, key: bytes, value: bytes) -> Any:
            if away.is_away:
                raise KafkaTimeoutError("no metadata")
            hangs.append(threading.current_thread())
            goes_on.wait()
            return super().send(topic, key=key, value=value)

    def connect() -> FakeProducer:
        if refusals:
            raise refusals.pop()
        return Hanging()

    output = KafkaOutput(connect, "events", MUCH, lambda: steps.append(threading.current_thread()))
    away.is_away = True
    output.start()
    until(lambda: len(steps) > 5)
    output.emit([marker(0)])
    before = len(steps)
    until(lambda: len(steps) > before + 3)
    away.is_away = False
    until(lambda: hangs)
    before = len(steps)
    goes_on.set()
    until(lambda: len(steps) > before)
    output.close(5)
    assert set(steps) == set(hangs), "a thread that hangs in a call makes no step"


def test_producer_that_finds_no_kafka_says_so_in_time() -> None:
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1: Connection refused"):
        make_producer("127.0.0.1:1,127.0.0.1:1", {})


def test_other_collectors_are_known_by_their_rounds() -> None:
    values = [
        b'{"event":"round","cluster":"prod","source":"collector a"}',
        b'{"event":"round","cluster":"prod","source":"collector b"}',
        b'{"event":"assignment_report","cluster":"prod","source":"a consumer itself"}',
        b'{"event":"round","cluster":"other","source":"collector c"}',
        b"garbage",
    ]
    assert other_collectors(values, lambda cluster, _: {"prod": "collector a"}.get(cluster)) == {
        "prod": {"collector b"}
    }


@pytest.fixture
def silent_server() -> Iterator[str]:
    """It accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.slow("many rounds are asked")
@pytest.mark.parametrize("kind", [KafkaAdminClient, KafkaConsumer, KafkaProducer])
def test_a_client_of_a_server_that_never_answers_leaves_no_socket_and_no_thread(kind: Any, silent_server: str) -> None:
    gc.collect()  # what other tests left, or it would be counted before and not after
    files, threads = len(list(OPEN_FILES.iterdir())), threading.active_count()
    with pytest.raises(KafkaError):
        opened(kind, {"bootstrap_servers": [silent_server], "bootstrap_timeout_ms": 200})
    gc.collect()
    assert len(list(OPEN_FILES.iterdir())) <= files
    assert threading.active_count() <= threads
