"""Where simulated events go: a file of JSON lines, or Kafka."""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol, cast

from kafka.errors import KafkaError

from schemas.records import record_values
from streaming.collector.from_config import client_options
from streaming.collector.output.backlog import KafkaRecord
from streaming.collector.output.kafka import KafkaOutput, make_producer
from streaming.config.sections import Config
from streaming.errors import PublishError
from streaming.simulation.load.generated_group import GroupRound

LIMIT_BYTES = 16 << 20  # of records that wait
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


class KafkaFeed:
    """The collector's output to Kafka, which waits for room where the collector would drop the oldest events."""

    def __init__(self, servers: str, topic: str, options: Mapping[str, Any]) -> None:
        """Raises PublishError where no broker answers or the topic is not there."""
        self.where = f"topic {topic} at {servers}"
        try:
            producer = make_producer(servers, options)
        except (KafkaError, OSError) as error:
            raise PublishError(f"Kafka at {servers}: {error}; is it running?") from error
        try:
            producer.partitions_for(topic)
        except KafkaError as error:
            raise self._given_up(error) from error
        finally:
            producer.close(timeout=1)
        self._output = KafkaOutput(lambda: make_producer(servers, options), topic, LIMIT_BYTES)
        self._output.start()

    def send(self, group_round: GroupRound) -> None:
        self.put(KafkaRecord(group_round.group.key, *value) for value in record_values(group_round.events))

    def put(self, records: Iterable[KafkaRecord]) -> None:
        if not self._output.backlog.wait_for_room(PATIENCE_S):
            raise self._given_up(f"nothing was acknowledged for {PATIENCE_S} s")
        if self._output.losses:
            raise self._given_up("Kafka refused a record")
        self._output.backlog.append(records)

    def flush(self) -> None:
        """Nothing to do: the output's thread sends all at once."""

    def close(self) -> None:
        left = self._output.close(PATIENCE_S)
        if left or self._output.losses:
            raise self._given_up(f"{left} events were left after {PATIENCE_S} s, {self._output.losses} refused")

    def _given_up(self, why: object) -> PublishError:
        return PublishError(f"{self.where}: not taken: {why}; does the topic exist, and is the broker alive?")


def kafka_feed(config: Config) -> KafkaFeed:
    """Into the job's topic."""
    return KafkaFeed(config.source.bootstrap_servers, config.source.topic, client_options(config))
