"""Where simulated events go: a file of JSON lines, or Kafka."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import BoundedSemaphore
from typing import IO, Protocol, cast

from kafka import KafkaProducer
from kafka.errors import KafkaError

from streaming.collector.from_config import client_options
from streaming.collector.output.kafka import make_producer
from streaming.config.sections import Config
from streaming.errors import AwayError, PublishError, SetupError
from streaming.feed.console_producer import ConsoleProducer
from streaming.simulation.load.generated_group import GroupRound

ON_THE_WAY = 10_000  # records handed to kafka-python and not yet acknowledged
PATIENCE_S = 60
COMPRESSION = 1  # of gzip: speed counts


class Output(Protocol):
    """An output of events. ``where``: its name in words. Raises PublishError for events that cannot be handed over."""

    where: str

    def send(self, group_round: GroupRound) -> None: ...

    def flush(self) -> None:
        """Make sure that readers see the events that were sent."""

    def close(self) -> None:
        """Wait until all events that were sent have arrived."""


class FileOutput:
    """A file of JSON lines, which is overwritten. It is compressed if its name ends in ``.gz``.

    ``is_whole``: it gets its name only when it is complete: the job reads each file of a folder once.
    """

    def __init__(self, path: Path, is_whole: bool = False) -> None:
        self.where = str(path)
        self._final = path
        self._path = path.with_name(f".{path.name}") if is_whole else path
        with self._refusing():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = _open(self._path)

    def send(self, group_round: GroupRound) -> None:
        with self._refusing():
            self._stream.write(b"".join([event + b"\n" for event in group_round.events]))

    def flush(self) -> None:
        with self._refusing():
            self._stream.flush()

    def close(self) -> None:
        with self._refusing():
            self._stream.close()
            if self._path != self._final:
                self._path.replace(self._final)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            with suppress(OSError, AttributeError):  # there is no stream if the file cannot be opened
                self._stream.close()
            raise PublishError(f"{self._final}: cannot be written: {error.strerror or error}") from error


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, "wb", COMPRESSION))
    return path.open("wb", 1 << 20)


class KafkaOutput:
    """Kafka: each record under its group's key, in each group's order. At most ``ON_THE_WAY`` are not acknowledged."""

    def __init__(self, producer: KafkaProducer, topic: str, servers: str) -> None:
        self.where = f"topic {topic} at {servers}"
        self._producer, self._topic = producer, topic
        self._room = BoundedSemaphore(ON_THE_WAY)
        self._failures: list[BaseException] = []

    def check_topic(self) -> None:
        """Raise PublishError if the topic does not exist."""
        try:
            self._producer.partitions_for(self._topic)
        except KafkaError as error:
            raise self._given_up(error) from error

    def send(self, group_round: GroupRound) -> None:
        for key, value in group_round.records():
            self._wait_for_room()
            try:
                future = self._producer.send(self._topic, key=key, value=value)
            except KafkaError as error:
                raise self._given_up(error) from error
            future.add_callback(self._acknowledged)
            future.add_errback(self._failed)

    def flush(self) -> None:
        """Nothing to do: the producer's thread sends all within 50 ms."""

    def close(self) -> None:
        for _ in range(ON_THE_WAY):
            self._wait_for_room()
        self._producer.close(timeout=5)

    def _wait_for_room(self) -> None:
        if not self._room.acquire(timeout=PATIENCE_S):
            raise self._given_up(f"nothing was acknowledged for {PATIENCE_S} s")
        if self._failures:
            raise self._given_up(self._failures[0])

    def _acknowledged(self, _metadata: object) -> None:
        self._room.release()

    def _failed(self, error: BaseException) -> None:
        self._failures.append(error)
        self._room.release()

    def _given_up(self, why: object) -> PublishError:
        self._producer.close(timeout=1)
        return PublishError(f"{self.where}: not taken: {why}; does the topic exist, and is the broker alive?")


def kafka_output(config: Config) -> Output:
    """The output into the job's topic: Kafka's console producer, or the collector's producer if options need it (TLS).

    Raises PublishError where no broker answers or the topic is not there.
    """
    topic, servers = config.source.topic, config.source.bootstrap_servers
    try:
        producer = make_producer(servers, client_options(config))
    except (KafkaError, OSError) as error:
        raise PublishError(f"Kafka at {servers}: {error}; is it running?") from error
    ours = KafkaOutput(producer, topic, servers)
    ours.check_topic()
    if config.collector.kafka:
        return ours
    try:
        quicker = ConsoleProducer(servers, topic)
    except (AwayError, SetupError):  # no way to fetch Kafka's jars, or no Java
        return ours
    ours.close()
    return quicker
