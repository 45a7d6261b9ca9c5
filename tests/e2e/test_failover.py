"""Several processes of ``evenkeel collect``: one asks the cluster, another takes over, and never two ask at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kafka import KafkaConsumer, TopicPartition

from schemas.events import Round
from streaming.collector.probing.share import home_of
from streaming.collector.wire.client import Lane
from streaming.loopback.kafka import LoopbackKafka
from tests.collector.fake_rocketmq import Asked, FakeClient, FakeCluster, FakeGroup, served
from tests.collector.test_cluster_probe import two_clients
from tests.collector.test_real_kafka import until
from tests.e2e.workload import PARTITIONS
from tests.records import accepted

pytestmark = pytest.mark.kafka
CONNECTIONS, RUNNING_INFO, CONSUME_STATS = 203, 307, 208
SHARING = tuple(
    next(f"s{n}" for n in range(99) if home_of(f"s{n}") == home) for home in (0, 3)
)  # two groups, one client
OVERLAP_S = 3  # how long a collector that was to stop asks nothing, at the least


class Collectors:
    """Processes of ``evenkeel collect`` with one configuration."""

    def __init__(self, folder: Path, kafka: LoopbackKafka, topic: str, cluster: FakeCluster, more: str = "") -> None:
        self.config = folder / "x.toml"
        self.config.write_text(
            f'[source]\nbootstrap_servers = "{kafka.bootstrap_servers}"\ntopic = "{topic}"\n[collector]\n'
            f'clusters = {{ prod = "{cluster.namesrv[0]}" }}\ninterval_seconds = 1\ntimeout_seconds = 1\n'
            f'state = "{folder}/state"\nfailover_topic = "collectors-{uuid4().hex[:8]}"\n{more}'
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

    def rounds(self, group: str = "g") -> list[Round]:
        """The rounds of the group so far; its events are in one partition, so in their order."""
        for records in self._consumer.poll(timeout_ms=300).values():
            for record in records:
                events = accepted(record.key, record.value)
                self._rounds += [one for one in events if isinstance(one, Round)]
        return [one for one in self._rounds if one.group == group]

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


def many_groups() -> FakeCluster:
    """Half of the clients answer slowly, so that as many requests are on their way as may be."""
    owned = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]

    def group(name: str) -> FakeGroup:
        mine = [FakeClient(f"{name}-{one}", owned[one::4], delay_s=0.3 * (one % 2)) for one in range(4)]
        return FakeGroup([*mine, FakeClient("shared")] if name in SHARING else mine)

    return FakeCluster(groups={name: group(name) for name in [*SHARING, *(f"g{number}" for number in range(24))]})


def returns(asked: Iterable[Asked]) -> list[Asked]:
    """Requests by a connection after another one was used for the subject: then two collectors asked about it."""
    used: dict[tuple[str, str], list[int]] = {}
    found = []
    for one in asked:
        connections = used.setdefault((one.broker, one.subject), [])
        if one.connection in connections[:-1]:
            found.append(one)
        elif one.connection not in connections:
            connections.append(one.connection)
    return found


def newest_source(collectors: Collectors, group: str) -> str:
    return collectors.rounds(group)[-1].source


def askers(collectors: Collectors, fake: FakeCluster) -> set[str]:
    """The processes that sent the newest rounds of the groups; none, if a group has no round yet."""
    newest = [collectors.rounds(group)[-1:] for group in fake.groups]
    return {rounds[0].source.split()[-2] for rounds in newest} if all(newest) else set()


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


@pytest.mark.timeout(240)
def test_collectors_share_a_cluster_and_a_killed_one_is_replaced(
    tmp_path: Path, kafka: LoopbackKafka, topic: str
) -> None:
    """Each group is asked by one collector at a time, each client too, and the limits of a broker are kept."""
    fake = many_groups()
    with served(fake) as cluster:
        collectors = Collectors(tmp_path, kafka, topic, cluster, "share = true\nrunning_info_seconds = 5\n")
        try:
            for number in (1, 2):
                collectors.start()
                until(lambda number=number: len(askers(collectors, fake)) == number)  # type: ignore[misc]
            until(lambda: len({newest_source(collectors, group) for group in SHARING}) == 1)
            collectors.running[0].kill()
            until(lambda: askers(collectors, fake) == {str(one.pid) for one in collectors.running[1:]})
            time.sleep(OVERLAP_S)
            assert len({newest_source(collectors, group) for group in SHARING}) == 1
        finally:
            collectors.close()
    assert returns(one for one in fake.asked_about if one.code == CONNECTIONS) == []
    assert returns(one for one in fake.asked_about if one.code == RUNNING_INFO) == []
    assert {key: number for key, number in fake.most_at_work.items() if number != 1} == {}
    for lane, code in ((Lane.CLIENTS, RUNNING_INFO), (Lane.TABLES, CONSUME_STATS), (Lane.LISTS, CONNECTIONS)):
        assert max(node.most_at_work[code] for node in fake.nodes.values()) <= lane.value
