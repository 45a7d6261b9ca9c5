"""Clusters of RocketMQ, a Kafka, and processes of ``evenkeel collect``, each with networks of its own."""

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple, TypeVar

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from bench.reliability.proxy import Proxy
from streaming.loopback.kafka import LoopbackKafka
from streaming.loopback.ports import free_port
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, FakeNode, is_probe
from testing.workload import PARTITIONS

CLUSTERS = ("prod", "payments")
HEALTHY, ILL, CHANGING = "healthy", "ill", "changing"
BROKERS = ("broker-a", "broker-b")
TOPIC, MEMBERS_TOPIC = "events", "collectors"
SLOW_S = {201: 1.0, 402: 1.0, 208: 0.5, 307: 0.5}  # how long a broker works at what costs it something
SETTLED_FOR_S = 3  # one process asks each cluster for so long
INTERVAL_S = 1  # between two rounds of a collector; so silence is known to a second
T = TypeVar("T")


class Request(NamedTuple):
    """One that came to a broker or name server. ``at_s``: monotonic."""

    at_s: float
    asker: int
    connection: int


@dataclass
class BrokersWork:
    """How many requests of each collector the brokers of one cluster work at. They finish what they have begun."""

    by_asker: Counter[int] = field(default_factory=Counter)
    together_s: list[float] = field(default_factory=list)  # when one came during the work for another collector

    def begin(self, asker: int) -> None:
        if any(count for other, count in self.by_asker.items() if other != asker):
            self.together_s.append(time.monotonic())
        self.by_asker[asker] += 1


@dataclass
class ReachedCluster(FakeCluster):
    """A cluster as one collector reaches it: at addresses of its own, so it is known who asks."""

    asker: int = 0
    work: BrokersWork = field(default_factory=BrokersWork)

    async def answer(self, node: FakeNode, code: int, fields: dict[str, str]) -> tuple[int, bytes]:
        if is_probe(code, fields):
            return await super().answer(node, code, fields)
        return await asyncio.shield(asyncio.ensure_future(self._answer(node, code, fields)))

    async def _answer(self, node: FakeNode, code: int, fields: dict[str, str]) -> tuple[int, bytes]:
        self.work.begin(self.asker)
        try:
            await asyncio.sleep(SLOW_S.get(code, 0))
            return await super().answer(node, code, fields)
        finally:
            self.work.by_asker[self.asker] -= 1


def _groups() -> dict[str, FakeGroup]:
    return {name: _group(name) for name in (HEALTHY, ILL, CHANGING)}


def _group(name: str) -> FakeGroup:
    topics = ("T", f"%RETRY%{name}")
    owned = [[("T", broker, number) for number in range(4)] + [(topics[1], broker, 0)] for broker in BROKERS]
    clients = [FakeClient(f"10.0.0.{number}@{name}", mine, topics) for number, mine in enumerate(owned, 1)]
    return FakeGroup(clients, topics)


def take_queue(group: FakeGroup) -> None:
    """From now on nobody consumes the first queue of the second broker."""
    group.members[1].owned = [one for one in group.members[1].owned if one != ("T", BROKERS[1], 0)]


def give_queue_back(group: FakeGroup) -> None:
    group.members[1].owned = [("T", BROKERS[1], 0), *group.members[1].owned]


class Stage:
    """Everything, for the length of a ``with`` block. ``number`` collectors; their files are in ``folder``."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self.askers = range(number)
        self.groups = {cluster: _groups() for cluster in CLUSTERS}
        self.work = {cluster: BrokersWork() for cluster in CLUSTERS}
        self.reached = {
            cluster: [
                ReachedCluster(BROKERS, groups=self.groups[cluster], asker=asker, work=self.work[cluster])
                for asker in self.askers
            ]
            for cluster in CLUSTERS
        }
        for cluster in CLUSTERS:
            take_queue(self.groups[cluster][ILL])
        self.processes: list[subprocess.Popen[bytes] | None] = [None for _ in self.askers]
        self.to_kafka: list[list[Proxy]] = [[] for _ in self.askers]
        self.to_rocketmq: list[list[Proxy]] = [[] for _ in self.askers]
        self._loop, self._is_up, self._stop = asyncio.new_event_loop(), Event(), asyncio.Event()
        self._thread = Thread(target=lambda: self._loop.run_until_complete(self._serve()))
        self._port, self._own_ports = free_port(), [free_port() for _ in self.askers]
        self._addresses = [f"127.0.0.1:{free_port()}" for _ in self.askers]
        self.kafka = LoopbackKafka(folder / "kafka", port=self._port, properties=self._properties())

    def _properties(self) -> dict[str, str]:
        """A listener for each collector, which Kafka names to it at the address of its proxy."""
        controller = f"127.0.0.1:{free_port()}"
        names = [f"C{asker}" for asker in self.askers]
        own = [f"{name}://127.0.0.1:{port}" for name, port in zip(names, self._own_ports, strict=True)]
        shown = [f"{name}://{address}" for name, address in zip(names, self._addresses, strict=True)]
        common = [f"PLAINTEXT://127.0.0.1:{self._port}", f"CONTROLLER://{controller}"]
        return {
            "controller.quorum.voters": f"1@{controller}",
            "listeners": ",".join([*common, *own]),
            "advertised.listeners": ",".join([*common, *shown]),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": ",".join(
                f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "CONTROLLER", *names)
            ),
        }

    def __enter__(self) -> "Stage":
        self._thread.start()
        assert self._is_up.wait(10)
        try:
            self.kafka.start()
            self.kafka.create_topic(TOPIC, PARTITIONS)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for process in self.processes:
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        self.kafka.stop()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        async with AsyncExitStack() as stack:
            for asker, port in zip(self.askers, self._own_ports, strict=True):
                address = await self._proxy(self.to_kafka[asker], f"127.0.0.1:{port}", stack, self._addresses[asker])
                assert address == self._addresses[asker]
            for reached in self.reached.values():
                for one in reached:
                    await stack.enter_async_context(one.running())
                    for node in [*one.nodes.values(), *one.name_servers]:
                        node.address = await self._proxy(self.to_rocketmq[one.asker], node.address, stack)
            self._is_up.set()
            await self._stop.wait()

    async def _proxy(self, among: list[Proxy], target: str, stack: AsyncExitStack, at: str = ":0") -> str:
        proxy = Proxy(target)
        among.append(proxy)
        address = await proxy.start(int(at.rpartition(":")[2]))
        stack.push_async_callback(proxy.stop)
        return address

    def kafka_address(self, asker: int) -> str:
        """Where this one reaches Kafka, by ``to_kafka``. It need not be a collector."""
        return self._addresses[asker]

    # --- what faults do

    def start(self, asker: int) -> None:
        clusters = ", ".join(f'{name} = "{reached[asker].namesrv[0]}"' for name, reached in self.reached.items())
        config = self._folder / f"{asker}.toml"
        config.write_text(
            f'[source]\nbootstrap_servers = "{self._addresses[asker]}"\ntopic = "{TOPIC}"\n'
            f"[collector]\nclusters = {{ {clusters} }}\ninterval_seconds = {INTERVAL_S}\ntimeout_seconds = 1\n"
            f'failover_topic = "{MEMBERS_TOPIC}"\n'
        )
        command = [sys.executable, "-m", "streaming", "collect", "--config", str(config)]
        with (self._folder / f"{asker}.log").open("ab") as log:
            self.processes[asker] = subprocess.Popen(command, stdout=log, stderr=log)

    def process(self, asker: int) -> "subprocess.Popen[bytes]":
        process = self.processes[asker]
        assert process is not None
        return process

    def cut(self, proxies: list[Proxy]) -> None:
        for proxy in proxies:
            self._loop.call_soon_threadsafe(proxy.cut)

    def mend(self, proxies: list[Proxy]) -> None:
        for proxy in proxies:
            self._loop.call_soon_threadsafe(proxy.mend)

    # --- what is seen at the brokers

    def requests(self, cluster: str, since_s: float = 0) -> list[Request]:
        """By time, without probes of standbys. A fake appends to its list, so the newest are at its end."""
        found = []
        for one in self.reached[cluster]:
            for at_s, connection in reversed(one.asked_s):
                if at_s < since_s:
                    break
                if connection not in one.probing:
                    found.append(Request(at_s, one.asker, connection))
        return sorted(found)

    def probes(self, cluster: str, since_s: float) -> int:
        """How many requests standbys have sent."""
        return sum(
            at_s >= since_s and connection in one.probing
            for one in self.reached[cluster]
            for at_s, connection in one.asked_s
        )

    def asker_of(self, cluster: str) -> int:
        return self.requests(cluster)[-1].asker

    def wait_until_settled(self, within_s: float) -> bool:
        """Returns whether all processes are members in time, and one of them asks each cluster."""
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s:
            if self._is_asked() and self._are_members():
                return True
            time.sleep(0.5)
        return False

    def _is_asked(self) -> bool:
        now_s = time.monotonic()
        for cluster in CLUSTERS:
            newest = self.requests(cluster, now_s - SETTLED_FOR_S)
            if len({one.asker for one in newest}) != 1 or now_s - newest[-1].at_s > 2 * INTERVAL_S:
                return False
            if now_s - newest[0].at_s < SETTLED_FOR_S - 2 * INTERVAL_S:
                return False
        return all(process is not None and process.poll() is None for process in self.processes)

    def _are_members(self) -> bool:
        try:
            admin = KafkaAdminClient(bootstrap_servers=self.kafka.bootstrap_servers, bootstrap_timeout_ms=2000)
        except (KafkaError, OSError):
            return False
        try:
            group = admin.describe_groups([MEMBERS_TOPIC])[MEMBERS_TOPIC]
            return group["group_state"] == "Stable" and len(group["members"]) == len(self.askers)
        except KafkaError:
            return False
        finally:
            admin.close()
