"""Several processes of ``evenkeel collect``: one asks the cluster, another takes over, and never two ask at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kafka import KafkaConsumer, TopicPartition

from schemas.events import Round
from streaming.loopback.kafka import LoopbackKafka
from testing.fake_rocketmq import FakeCluster, served, two_clients
from testing.records import accepted
from testing.waiting import until
from testing.workload import PARTITIONS

pytestmark = [pytest.mark.deep("a job of its own, killed or running for minutes"), pytest.mark.kafka]
OVERLAP_S = 3  # how long a collector that was to stop asks nothing, at the least


class Collectors:
    """Processes of ``evenkeel collect`` with one configuration."""

    def __init__(self, folder: Path, kafka: LoopbackKafka, topic: str, cluster: FakeCluster) -> None:
        self.config = folder / "x.toml"
        self.config.write_text(
            f'[source]\nbootstrap_servers = "{kafka.bootstrap_servers}"\ntopic = "{topic}"\n[collector]\n'
            f'clusters = {{ prod = "{cluster.namesrv[0]}" }}\ninterval_seconds = 1\ntimeout_seconds = 1\n'
            f'state = "{folder}/state"\nfailover_topic = "collectors-{uuid4().hex[:8]}"\n'
        )
        self.folder, self.cluster = folder, cluster
        self.running: list[subprocess.Popen[bytes]] = []
        self._rounds: list[Round] = []
        self._consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
        self._consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])

    def start(self) -> None:
        command = [sys.executable, "-m", "streaming", "collect", "--config", str(self.config)]
        with (self.folder / f"log-{len(self.running)}").open("wb") as log:
            self.running.append(subprocess.Popen(command, stdout=log, stderr=log))

    def rounds(self) -> list[Round]:
        """The rounds of the group so far; its events are in one partition, so in their order."""
        for records in self._consumer.poll(timeout_ms=300).values():
            for record in records:
                events = accepted(record.key, record.value)
                self._rounds += [one for one in events if isinstance(one, Round) and one.group == "g"]
        return self._rounds

    def wait_for_asker(self, other_than: str = "", within_s: float = 60) -> str:
        found: list[str] = []

        def is_there() -> bool:
            rounds = self.rounds()
            found[:] = [rounds[-1].source] if rounds and rounds[-1].source != other_than else []
            return bool(found)

        until(is_there, within_s)
        return found[0]

    def process_of(self, source: str) -> "subprocess.Popen[bytes]":
        """A source names its process: ``collector HOST PID START``."""
        return next(one for one in self.running if str(one.pid) == source.split()[-2])

    def close(self) -> None:
        self._consumer.close()
        for one in self.running:
            if one.poll() is None:
                os.kill(one.pid, signal.SIGCONT)
                one.kill()
            one.wait()


@pytest.fixture
def collectors(tmp_path: Path, kafka: LoopbackKafka, topic: str) -> Iterator[Collectors]:
    with served(two_clients()) as cluster:
        started = Collectors(tmp_path, kafka, topic, cluster)
        try:
            yield started
        finally:
            started.close()


def overlapping_requests(cluster: FakeCluster, ended_s: float) -> int:
    """How many requests came by connections from before ``ended_s`` after the first one by a later connection."""
    before = {connection for asked_s, connection in cluster.asked_s if asked_s < ended_s}
    first_s = min(asked_s for asked_s, connection in cluster.asked_s if connection not in before)
    return sum(asked_s >= first_s for asked_s, connection in cluster.asked_s if connection in before)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
def test_another_collector_takes_over_and_never_two_ask(ending: signal.Signals, collectors: Collectors) -> None:
    collectors.start()
    collectors.wait_for_asker()
    collectors.start()
    time.sleep(6)  # the cluster may move to the second one now
    first = collectors.wait_for_asker()
    asker = collectors.process_of(first)
    ended_s = time.monotonic()
    asker.send_signal(ending)
    second = collectors.wait_for_asker(other_than=first)
    if ending is signal.SIGSTOP:
        asker.send_signal(signal.SIGCONT)
    time.sleep(OVERLAP_S)
    assert overlapping_requests(collectors.cluster, ended_s) == 0
    ends = {source: [one.ts for one in collectors.rounds() if one.source == source] for source in (first, second)}
    assert max(ends[first]) < min(ends[second])  # rounds of a paused collector may reach Kafka when it goes on
    if ending is signal.SIGTERM:
        assert asker.wait(10) == 0
