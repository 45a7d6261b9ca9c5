"""Events into Kafka with Kafka's own console producer: a real client that takes little of the cores under test."""

import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO

from streaming.jvm.java import java_home
from streaming.loopback.kafka import kafka_jars
from streaming.simulation.load.stamped_fleet import Record

JVM = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
LINGER_MS = 5


def as_lines(records: Iterable[Record]) -> bytes:
    """Key, tab, value, line by line: JSON has neither raw tabs nor raw line ends."""
    return b"".join(b"%b\t%b\n" % record for record in records)


def read_lines(path: Path) -> list[Record]:
    with path.open("rb") as lines:
        return [(key, value[:-1]) for key, _, value in (line.partition(b"\t") for line in lines)]


class Producer:
    """Sends what is written to ``pipe``; leaving the ``with`` block waits until all of it has been acknowledged."""

    def __init__(self, bootstrap_servers: str, topic: str, source: IO[bytes] | None = None) -> None:
        self.where = f"topic {topic} at {bootstrap_servers}"
        properties = ("parse.key=true", "key.separator=\t")
        self._command = [
            str(java_home() / "bin" / "java"),
            *JVM,
            *("-cp", os.pathsep.join(map(str, kafka_jars())), "kafka.tools.ConsoleProducer"),
            *("--bootstrap-server", bootstrap_servers, "--topic", topic),
            *(word for value in properties for word in ("--property", value)),
            *("--timeout", str(LINGER_MS), "--batch-size", str(1 << 18), "--compression-codec", "lz4"),
        ]
        self._source = source
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process, in __exit__

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def send(self, records: Iterable[Record]) -> None:
        self.pipe.write(as_lines(records))

    def flush(self) -> None:
        self.pipe.flush()

    def close(self) -> None:
        """Leaving the block does."""

    def __enter__(self) -> "Producer":
        stdin = subprocess.PIPE if self._source is None else self._source
        self._process = subprocess.Popen(
            self._command, stdin=stdin, stdout=self._errors, stderr=self._errors, bufsize=1 << 20
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        status = self._process.wait(300)
        with self._errors as errors:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()
        if kind is None and (status or said):  # it reports a record that was not sent, and goes on
            raise RuntimeError(f"the producer ended with {status}: {said[-2000:]}")


def send_file(path: Path, bootstrap_servers: str, topic: str) -> None:
    """Send a file of lines as fast as the producer can."""
    with path.open("rb") as lines, Producer(bootstrap_servers, topic, lines):
        pass
