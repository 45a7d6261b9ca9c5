"""Events into Kafka, by a thread of its own: idempotent, acknowledged by all replicas, in each group's order."""

import logging
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Condition, Event, Thread
from typing import Any, TypeVar

from kafka import KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.errors import KafkaError
from kafka.future import Future
from kafka.net.compat import KafkaNetClient

from schemas.events import AnyEvent
from streaming.collector.output.backlog import Backlog, KafkaRecord
from streaming.config.values import server_list

MAX_BYTES_IN_FLIGHT = 8 * 1024 * 1024  # handed to kafka-python and not yet acknowledged
BATCH = 500
AWAY_AFTER_S = 10
RETRY_AFTER_S = 5
CONNECT_WITHIN_S = 3
DAY_MS = 86_400_000
T = TypeVar("T")
log = logging.getLogger(__name__)


def make_producer(bootstrap_servers: str, options: Mapping[str, Any]) -> KafkaProducer:
    """Raises KafkaError or OSError where no broker answers. What it was given stays with it until Kafka takes it."""
    servers = list(server_list(bootstrap_servers))
    check_reachable(servers)
    defaults = {"client_id": "evenkeel-collector", "compression_type": "gzip", "bootstrap_timeout_ms": 5_000}
    return opened(
        KafkaProducer,
        {
            "bootstrap_servers": servers,
            **defaults,
            **options,
            "enable_idempotence": True,
            "acks": "all",
            "linger_ms": 50,
            "batch_size": 64 * 1024,
            "max_block_ms": 5_000,
            "delivery_timeout_ms": DAY_MS,
        },
    )


class _Client(KafkaNetClient):
    """A client that has a thread closes its connections in that thread.

    kafka-python (3.0.12) closes them in the caller's, while the thread may be about to wait for one of them. The
    thread then logs an error with a traceback, although nothing is wrong.
    """

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
        _ask_once(self.cluster)

    def close(self, node_id: object = None) -> None:
        if node_id is None and self._net._io_thread is not None and self._net._exception is None:
            self._net.run(self._manager.close)
        super().close(node_id)


def opened(kind: Callable[..., T], options: Mapping[str, Any]) -> T:
    """A client of kafka-python. Where none can be made, its sockets and its thread end; kafka-python leaves them."""
    made: list[_Client] = []

    def make(**configs: Any) -> _Client:
        made.append(_Client(**configs))
        return made[-1]

    try:
        return kind(kafka_client=make, **options)
    except BaseException:
        for client in made:
            client.close()
        raise


def _ask_once(metadata: ClusterMetadata) -> None:
    """Let nobody ask for new metadata while an answer is awaited.

    While a partition has no leader, the sender of kafka-python (3.0.12) asks in each turn, and each time it wakes
    itself for the next turn. It took a core of the processor from when Kafka stopped until Kafka was back.
    """
    request = metadata.request_update

    def request_once() -> Future:
        awaited = metadata._future
        return awaited if metadata.need_update and awaited is not None and not awaited.is_done else request()

    metadata.request_update = request_once


def check_reachable(servers: list[str]) -> None:
    """No client is made while nobody listens: it would try, and log it, until its time is over."""
    failure = OSError("no server to try")
    for server in servers:
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_WITHIN_S).close()
            return
        except OSError as error:
            failure = OSError(f"{server}: {error.strerror or error}")
    raise failure


class KafkaOutput:
    """``emit`` only puts events into the backlog; all else is the thread's.

    ``sent`` counts events, ``records`` the records that they were in. ``is_away``: Kafka takes none now. ``losses``
    rises when events were lost and Kafka takes others again: it is time to tell everything once more.
    ``went_on`` is called with each turn of the thread, also while Kafka is away.
    """

    def __init__(
        self,
        connect: Callable[[], KafkaProducer],
        topic: str,
        limit_bytes: int,
        went_on: Callable[[], object] = lambda: None,
    ) -> None:
        self.backlog = Backlog(limit_bytes)
        self.sent = self.records = self.losses = 0
        self.is_away = False
        self._connect, self._topic, self._went_on = connect, topic, went_on
        self._taken: deque[KafkaRecord] = deque()  # from the backlog, and not yet handed to kafka-python
        self._stopping, self._in_flight = Event(), _InFlight()
        self._lost = self._given_up_before = 0
        self._thread = Thread(target=self._run, name="kafka", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def emit(self, events: list[AnyEvent]) -> None:
        if events:
            self.backlog.put(events)

    def close(self, timeout_s: float) -> int:
        """Send what still waits, for as long as that may take. The answer is how many events are lost."""
        self.backlog.end_rounds()
        self._stopping.set()
        self._thread.join(timeout_s)
        taken = sum(record.events for record in tuple(self._taken))
        left = len(self.backlog) + taken + self._in_flight.events + self._lost
        if left:
            log.warning("%s events were not taken by Kafka and are lost", left)
        return left

    def _run(self) -> None:
        producer = self._connected()
        while producer is not None and not (self._stopping.is_set() and not self._taken and not len(self.backlog)):
            try:
                self._turn(producer)
            except Exception as error:
                self._note_fault(error)
                self._stopping.wait(RETRY_AFTER_S)
                if _is_closed(producer):
                    producer = self._connected()
        if producer is None:
            return
        while self._in_flight.count:
            time.sleep(0.05)
        producer.close(timeout=5)

    def _connected(self) -> KafkaProducer | None:
        while True:
            try:
                self._went_on()
                return self._connect()
            except Exception as error:
                self._note_fault(error)
                if self._stopping.wait(RETRY_AFTER_S):
                    return None

    def _turn(self, producer: KafkaProducer) -> None:
        self._went_on()
        if self._in_flight.waits_s() > AWAY_AFTER_S:
            self._note_absence(True, f"it has acknowledged nothing for {AWAY_AFTER_S} s")
        if not self._in_flight.wait_for_room(0.5):
            return
        if not self._taken:
            self._taken.extend(self.backlog.take(BATCH, 0.5))
        while self._taken:
            self._send(producer, self._taken.popleft())

    def _send(self, producer: KafkaProducer, record: KafkaRecord) -> None:
        """Until kafka-python takes it: it refuses while it cannot learn of the topic's partitions.

        A record at which anything else goes wrong is lost: it could be at fault, and nothing would be sent after it.
        """
        while True:
            self._went_on()
            try:
                future = producer.send(self._topic, key=record.key, value=record.value)
                break
            except KafkaError as error:
                self._note_absence(True, str(error) or type(error).__name__)
                if self._stopping.wait(0.2):
                    self._lost += record.events
                    return
            except Exception:
                self.losses += 1
                raise
        number = self._in_flight.begin(record)
        future.add_callback(lambda _: self._acknowledged(number, record.events))
        future.add_errback(lambda error: self._refused(number, error))

    def _acknowledged(self, number: int, events: int) -> None:
        self._in_flight.end(number)
        self.sent += events
        self.records += 1
        self._note_absence(False, "")

    def _refused(self, number: int, error: BaseException) -> None:
        self._in_flight.end(number)
        self.losses += 1
        log.error("Kafka refused a record, which is lost: %s", error)

    def _note_fault(self, error: Exception) -> None:
        """Log it. Without this thread nothing would be sent any more, so no error ends it."""
        if not isinstance(error, KafkaError | OSError):  # of kafka-python's own
            log.exception("events cannot be sent to Kafka; the next try is in %s s", RETRY_AFTER_S)
        self._note_absence(True, str(error) or type(error).__name__)

    def _note_absence(self, is_away: bool, why: str) -> None:
        """Say when Kafka goes and when it is back, once each."""
        if is_away and not self.is_away:
            self.is_away = True
            self._given_up_before = self.backlog.given_up
            log.warning("Kafka is away: %s; events wait in memory", why)
        elif not is_away and self.is_away:
            self.is_away = False
            given_up = self.backlog.given_up - self._given_up_before
            self.losses += given_up > 0
            log.warning("Kafka takes events again; %s still wait, %s were dropped", len(self.backlog), given_up)


def _is_closed(producer: KafkaProducer) -> bool:
    """Close it. One that still has records which Kafka has not acknowledged stays open, to send them."""
    try:
        producer.close(timeout=CONNECT_WITHIN_S)
    except Exception as error:
        log.warning("the producer stays open: %s", error)
        return False
    return True


class _InFlight:
    """The records on their way to Kafka, and since when."""

    def __init__(self) -> None:
        self._records: dict[int, tuple[KafkaRecord, float]] = {}
        self._bytes = 0
        self._next = 0
        self._changed = Condition()

    @property
    def count(self) -> int:
        return len(self._records)

    @property
    def events(self) -> int:
        with self._changed:
            return sum(record.events for record, _ in self._records.values())

    def begin(self, record: KafkaRecord) -> int:
        with self._changed:
            self._next += 1
            self._records[self._next] = record, time.monotonic()
            self._bytes += len(record.value)
            return self._next

    def end(self, number: int) -> None:
        with self._changed:
            record, _ = self._records.pop(number)
            self._bytes -= len(record.value)
            self._changed.notify_all()

    def wait_for_room(self, wait_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._bytes < MAX_BYTES_IN_FLIGHT, wait_s)

    def waits_s(self) -> float:
        """For how long the oldest has been on its way."""
        with self._changed:
            oldest = next(iter(self._records.values()), None)
            return 0 if oldest is None else time.monotonic() - oldest[1]
