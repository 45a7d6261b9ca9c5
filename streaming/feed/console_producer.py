"""Kafka's own console producer, a Java client: it takes a tenth of the time of the Python client."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import IO

from streaming.errors import PublishError
from streaming.jvm.java import java_home
from streaming.loopback.kafka import kafka_jars
from streaming.simulation.load.generated_group import GroupRound, Record

JVM = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
LINGER_MS = 5
ENDS_WITHIN_S = 300
# Java prints such lines about JAVA_TOOL_OPTIONS and others
PICKED_UP = re.compile(r"^(NOTE: )?Picked up \w+:.*\n?", re.MULTILINE)


def as_lines(records: Iterable[Record]) -> bytes:
    """The records as lines of key, tab and value: JSON has neither raw tabs nor raw line ends."""
    return b"".join([b"%b\t%b\n" % record for record in records])


class ConsoleProducer:
    """An ``Output``. ``pipe`` takes lines as ``as_lines`` makes them; ``close`` waits until all is acknowledged.

    It runs from Kafka's jars, which are fetched once (SetupError, AwayError), without TLS and SASL. Readers in Python
    know only ``gzip``; ``lz4`` costs less.
    """

    def __init__(self, bootstrap_servers: str, topic: str, compression: str = "gzip") -> None:
        self.where = f"topic {topic} at {bootstrap_servers}"
        properties = ("parse.key=true", "key.separator=\t")
        command = [
            str(java_home() / "bin" / "java"),
            *JVM,
            *("-cp", os.pathsep.join(map(str, kafka_jars())), "kafka.tools.ConsoleProducer"),
            *("--bootstrap-server", bootstrap_servers, "--topic", topic),
            *(word for value in properties for word in ("--property", value)),
            *("--timeout", str(LINGER_MS), "--batch-size", str(1 << 18), "--compression-codec", compression),
        ]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._said,
            stderr=self._said,
            bufsize=1 << 20,
            start_new_session=True,  # this process handles Ctrl-C: events that were sent still arrive
        )

    @property
    def pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def send(self, group_round: GroupRound) -> None:
        try:
            self.pipe.write(as_lines(group_round.records()))
        except OSError:
            self.close()  # it has ended, and its output has the reason
            raise

    def flush(self) -> None:
        try:
            self.pipe.flush()
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """End the producer. Raises PublishError if it reported a record that was not sent; it goes on after that."""
        status, said = self._end()
        if status or said:
            raise PublishError(f"{self.where}: not all was taken: Kafka's console producer ended with {status}: {said}")

    def _end(self) -> tuple[int, str]:
        with suppress(OSError):
            self.pipe.close()
        try:
            status = self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        with self._said as said:
            said.seek(0)
            return status, PICKED_UP.sub("", said.read().decode(errors="replace")).strip()[-2000:]

    def __enter__(self) -> "ConsoleProducer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        elif not self._said.closed:
            self._end()
