"""A real RocketMQ on loopback: a name server, brokers, consumers and producers, from registry packages."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from schemas.identity import MessageQueue
from streaming.collector.wire.acl import Credentials
from streaming.loopback.ports import free_port
from testing.rocketmq import asking
from testing.rocketmq.child_process import ChildProcess
from testing.rocketmq.go import GO_SOURCES, build
from testing.rocketmq.jars import NEWEST, rocketmq_jars
from testing.rocketmq.jvm import JAVA_SOURCES, JavaProcess, compile_java
from testing.servers import Servers

P = TypeVar("P", bound=ChildProcess)
PATIENCE_S = 120  # with a busy machine
# The 4.x line ends where these files are missing; the 5.x line has them in its jars.
LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d %-5level %m%n</pattern></encoder></appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""  # noqa: E501


class Broker(JavaProcess):
    address: str = ""


class Client(ChildProcess):
    """One process; as a rule one client."""

    group: str = ""
    client_ids: tuple[str, ...] = ()

    @property
    def client_id(self) -> str:
        (only,) = self.client_ids
        return only


class GoConsumer(Client):
    """A client of rocketmq-client-go. Its id begins with an address that the SDK chooses: only brokers say which."""

    instance_name: str = ""


class Consumer(Client, JavaProcess):
    stuck_while: Path

    def hang(self) -> None:
        """Listeners return from no message any more; all else goes on."""
        self.stuck_while.touch()

    def recover(self) -> None:
        self.stuck_while.unlink()


class LoopbackRocketMQ(Servers):
    """A cluster for the length of a `with` block. Brokers can be killed and started again, by name."""

    def __init__(self, version: str = NEWEST, brokers: Sequence[str] = ("broker-a", "broker-b")) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="evenkeel-rocketmq-")
        self._home = Path(self._scratch.name)
        self.version = version
        self._classpath: list[Path] = []
        self._processes: list[ChildProcess] = []
        self._broker_names = tuple(brokers)
        self.brokers: dict[str, Broker] = {}
        self.user: tuple[str, str] | None = None  # access key and secret, where ACL asks for them
        self.namesrv = f"127.0.0.1:{free_port()}"

    @property
    def credentials(self) -> Credentials | None:
        return Credentials(*self.user) if self.user else None

    def create_topic(self, name: str, queues: Mapping[str, int]) -> None:
        """Or change it: so many queues on these brokers. Returns when the name server knows."""
        for broker, count in queues.items():
            asking.set_queues(self.brokers[broker].address, name, count, self.credentials)
        self.wait_until(
            lambda: queues.items() <= asking.queues_of(self.namesrv, name).items(), f"{name} has its queues"
        )

    def consumer(
        self,
        group: str,
        names: str | Sequence[str],
        topics: Mapping[str, str],
        *,
        strategy: str = "AVG",
        queues: Sequence[MessageQueue] = (),
        model: str = "CLUSTERING",
        orderly: bool = False,
        pops: bool = False,
        threads: int = 2,
        sleep_ms: int = 0,
        namesrv: str = "",
        kind: Literal["push", "pull", "lite"] = "push",
        jvm: Sequence[str] = (),
    ) -> Consumer:
        """A consumer, started, or several in one process; they need not have joined when this returns.

        ``topics``: filter expressions; ``queues``: those that the strategy CONFIG gives it; ``namesrv``: another than
        the cluster's. Those that pull have no listener, and RocketMQ's defaults for the rest.
        """
        names = [names] if isinstance(names, str) else names
        stuck_while = self._home / f"{group}-{names[0]}-{len(self._processes)}.stuck"
        said = {
            "namesrv": namesrv or self.namesrv, "group": group, "names": ";".join(names), "strategy": strategy,
            "topics": subscribed(topics), "model": model,
            "orderly": str(orderly).lower(), "pops": str(pops).lower(), "threads": str(threads),
            "sleep_ms": str(sleep_ms), "stuck_while": str(stuck_while), "lite": str(kind == "lite").lower(),
        }  # fmt: skip
        if queues:
            said["queues"] = ";".join(f"{one.topic},{one.broker_name},{one.queue_id}" for one in queues)
        if self.user:
            said |= dict(zip(("access_key", "secret_key"), self.user, strict=True))
        main = "Consumer" if kind == "push" else "PullConsumer"
        command = ["-Xmx128m", *jvm, main, *(f"{key}={value}" for key, value in said.items())]
        consumer = Consumer(stuck_while.stem, command, self._classpath, self._home)
        consumer.group, consumer.stuck_while = group, stuck_while
        suffix = "" if kind == "push" else "@STREAM"  # ClientConfig.buildMQClientId
        consumer.client_ids = tuple(f"127.0.0.1@{name}{suffix}" for name in names)
        return self._started(consumer)

    def go_consumer(self, group: str, name: str, topics: Mapping[str, str]) -> GoConsumer:
        """A push consumer of rocketmq-client-go, started; it need not have joined when this returns."""
        program = self._home / "go_client"
        if not program.exists():
            build(GO_SOURCES, self._home)
        said = {"namesrv": self.namesrv, "group": group, "name": name, "topics": subscribed(topics)}
        command = [str(program), *(f"{key}={value}" for key, value in said.items())]
        consumer = GoConsumer(f"{group}-{name}-{len(self._processes)}", command, self._home)
        consumer.group, consumer.instance_name = group, name
        return self._started(consumer)

    def producer(self, topics: Sequence[str], interval_ms: int = 500) -> JavaProcess:
        """Writes to every queue of these topics."""
        command = ["-Xmx128m", "Producer", self.namesrv, str(interval_ms), *topics]
        return self.java(f"producer-{len(self._processes)}", command)

    def java(self, name: str, command: Sequence[str], classes: Sequence[Path] = ()) -> JavaProcess:
        """Options of the JVM, a main class beside RocketMQ's own, its arguments: started."""
        return self._started(JavaProcess(name, command, [*classes, *self._classpath], self._home))

    def members(self, group: str, broker: str) -> tuple[str, ...]:
        """The client ids that a broker lists, in order."""
        return asking.members_of(self.brokers[broker].address, group, self.credentials)

    def wait_until_started(self, consumers: Sequence[Consumer]) -> None:
        """One that gave up, since the machine was too busy to answer it, is started again."""

        def has_started(consumer: Consumer) -> bool:
            if not consumer.is_running:
                consumer.start()
            return all(f"started {client_id}" in consumer.log for client_id in consumer.client_ids)

        for consumer in consumers:
            self.wait_until(partial(has_started, consumer), f"{consumer.name} has started")

    def wait_until_joined(self, consumers: Sequence[Client], brokers: Sequence[str]) -> None:
        """Until each of these brokers lists exactly these members of their groups."""
        for group in {consumer.group for consumer in consumers}:
            ids = tuple(sorted(id for one in consumers if one.group == group for id in one.client_ids))
            for broker in brokers:
                self.wait_until(partial(self._lists, broker, group, ids), f"{broker} lists {ids}")

    def _lists(self, broker: str, group: str, ids: tuple[str, ...]) -> bool:
        return self.members(group, broker) == ids

    def wait_until(self, condition: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}. {self._last_words()}"
            time.sleep(0.2)

    def offset_files(self, broker: str) -> list[Path]:
        """The file that the broker reads at its start, and the one from before, which it reads if that is missing."""
        file = self._home / f"store-{broker}" / "config" / "consumerOffset.json"
        return [file, file.with_name(f"{file.name}.bak")]

    def wait_for_broker(self, name: str) -> None:
        """Until it answers, and the name server knows it."""
        broker = self.brokers[name]

        def is_up() -> bool:
            assert broker.is_running, f"{name} ended while starting. {broker.last_words()}"
            is_known = asking.brokers_known_to(self.namesrv).get(name) == broker.address
            return is_known and asking.is_serving(broker.address, self.credentials)

        self.wait_until(is_up, f"{name} serves")

    def _open(self) -> None:
        jars = rocketmq_jars(self.version)
        classes = self._home / "classes"
        compile_java(sorted(JAVA_SOURCES.glob("*.java")), jars, classes)
        self._classpath = [classes, *jars]
        (self._home / "conf").mkdir()
        for name in ("namesrv", "broker"):
            (self._home / "conf" / f"logback_{name}.xml").write_text(LOGBACK)
        self._start_name_server()
        for name in self._broker_names:
            self._start_broker(name)
        for name in self._broker_names:
            self.wait_for_broker(name)

    def _start_name_server(self) -> None:
        main = "org.apache.rocketmq.namesrv.NamesrvStartup"
        port = self.namesrv.rpartition(":")[2]
        config = self._write("namesrv", {"bindAddress": "127.0.0.1", "listenPort": port})
        command = ["-Xmx128m", f"-Drocketmq.home.dir={self._home}", main, "-c", str(config)]
        self._started(JavaProcess("namesrv", command, self._classpath, self._home))
        self.wait_until(
            lambda: asking.ask(self.namesrv, asking.requests.cluster_info()).frame is not None, "it answers"
        )

    def _start_broker(self, name: str) -> None:
        port = free_port(-2)  # the one for VIPs is two below
        main = "org.apache.rocketmq.broker.BrokerStartup"
        config = self._write(name, self._settings(name, port))
        command = ["-Xmx384m", f"-Drocketmq.home.dir={self._home}", main, "-c", str(config)]
        broker = self.brokers[name] = Broker(name, command, self._classpath, self._home)
        broker.address = f"127.0.0.1:{port}"
        self._started(broker)

    def _settings(self, name: str, port: int) -> dict[str, object]:
        store = self._home / f"store-{name}"
        return {
            "brokerClusterName": "Loopback", "brokerName": name, "brokerId": 0, "namesrvAddr": self.namesrv,
            "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1", "bindAddress": "127.0.0.1", "listenPort": port,
            "haListenPort": free_port(), "storePathRootDir": store, "storePathCommitLog": store / "commitlog",
            "mappedFileSizeCommitLog": 16 << 20, "mappedFileSizeConsumeQueue": 600_000, "maxIndexNum": 20_000,
            "maxHashSlotNum": 5_000, "diskMaxUsedSpaceRatio": 95, "flushDiskType": "ASYNC_FLUSH",
            "autoCreateTopicEnable": "false", "autoCreateSubscriptionGroup": "true", "timerWheelEnable": "false",
            "registerNameServerPeriod": 10_000,
        }  # fmt: skip

    def _write(self, name: str, settings: Mapping[str, object]) -> Path:
        path = self._home / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path

    def _started(self, process: P) -> P:
        self._processes.append(process)
        process.start()
        return process

    def _last_words(self) -> str:
        return "\n".join(one.last_words() for one in self._processes if not one.is_running)

    def _close(self) -> None:
        for process in reversed(self._processes):
            process.close()
        self._scratch.cleanup()


def subscribed(topics: Mapping[str, str]) -> str:
    """Topics with their filter expressions, as the consumers' programs read them."""
    return ";".join(f"{topic}:{expression}" for topic, expression in topics.items())
