"""A real Kafka broker: one node, no ZooKeeper, on 127.0.0.1, started in seconds; it leaves no files."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from streaming.errors import SetupError
from streaming.jvm.jars import fetch
from streaming.jvm.java import java_home
from streaming.loopback.ports import free_port

COORDINATES = ("org.apache.kafka:kafka_2.13:3.9.2", "org.slf4j:slf4j-simple:1.7.36")
CLUSTER_ID = "ZXZlbmtlZWwtbG9vcGJhYw"  # 16 bytes in URL-safe base64, as Kafka asks
JVM = (
    "-Xms128m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # a quick start matters more than a high throughput
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
)
# The broker ends when the pipe to the process that started it closes: at stop(), and when that process is killed.
SUPERVISOR = """
exec 3<&0
"$@" </dev/null 3<&- & broker=$!
{ read -r _ <&3; kill $broker; } & watcher=$!
exec 3<&-
wait $broker; status=$?
kill $watcher
exit $status
"""


def kafka_jars(to: Path | None = None) -> list[Path]:
    """The broker's jars, which are fetched once, into ``to`` or the cache."""
    return fetch(COORDINATES, to=to)


class LoopbackKafka:
    """A broker for the length of a `with` block, or from `start()` to `stop()`.

    With `log_dir` the records are kept; without it they are deleted with the broker.
    """

    def __init__(
        self,
        log_dir: Path | None = None,
        *,
        port: int | None = None,
        properties: Mapping[str, str] | None = None,
        ready_within_s: float = 60,
    ) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="evenkeel-kafka-") if log_dir is None else None
        self._home = Path(self._scratch.name if self._scratch else log_dir or "")
        self._port = port or free_port()
        self._properties = dict(properties or {})
        self._ready_within_s = ready_within_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def log_file(self) -> Path:
        return self._home / "broker.log"

    def start(self) -> "LoopbackKafka":
        """Start the broker and wait until it answers."""
        try:
            self._wait_until_ready(self._launch())
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self, within_s: float = 15) -> None:
        """Stop the broker; kill it if it has not ended in time. A second call does nothing."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(within_s)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self._scratch:
            self._scratch.cleanup()

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Create a topic and wait until each of its partitions has a leader."""
        topic = {"num_partitions": partitions, "replication_factor": 1, "configs": dict(config or {})}
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        try:
            admin.create_topics({name: topic}, wait_for_metadata=True)
        finally:
            admin.close()

    def __enter__(self) -> "LoopbackKafka":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self) -> "subprocess.Popen[bytes]":
        java = [str(java_home() / "bin" / "java"), *JVM, "-cp", os.pathsep.join(map(str, kafka_jars()))]
        self._home.mkdir(parents=True, exist_ok=True)
        config = self._home / "server.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in self._settings().items()))
        self._format(java, config)
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", SUPERVISOR, "loopback-kafka", *java, "kafka.Kafka", str(config)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # this process handles Ctrl-C: the broker runs on until stop()
            )
        return self._process

    def _settings(self) -> dict[str, str]:
        controller = f"127.0.0.1:{free_port()}"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.bootstrap_servers},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "log.dirs": str(self._home / "records"),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.cleaner.dedupe.buffer.size": str(4 << 20),  # the default takes half of our heap
            **self._properties,
        }

    def _format(self, java: list[str], config: Path) -> None:
        """Give an empty log directory its identity, which KRaft needs before the first start."""
        if (self._home / "records" / "meta.properties").exists():
            return
        command = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if done.returncode:
            raise SetupError(f"Kafka could not format {self._home}: {done.stdout.strip()}")

    def _wait_until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + self._ready_within_s
        while not self._answers():
            if process.poll() is not None:
                raise SetupError(f"The Kafka broker ended while starting. {self._last_words()}")
            if time.monotonic() > deadline:
                raise SetupError(f"Kafka did not answer within {self._ready_within_s:g} s. {self._last_words()}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            admin = KafkaAdminClient(bootstrap_servers=self.bootstrap_servers, bootstrap_timeout_ms=2000)
        except (OSError, KafkaError):
            return False
        try:
            return bool(admin.describe_cluster()["brokers"])
        except KafkaError:
            return False
        finally:
            admin.close()

    def _last_words(self) -> str:
        lines = self.log_file.read_text(errors="replace").splitlines()[-15:]
        return "Its log ends with:\n" + "\n".join(lines)
