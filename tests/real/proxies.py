"""A real RocketMQ with proxies on loopback, and gRPC clients of Java and Go: of cluster mode, and of local mode."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal, TypeVar

from streaming.loopback.ports import free_port
from testing.rocketmq import asking
from testing.rocketmq.go import GO_GRPC_SOURCES, build
from testing.rocketmq.jars import NEWEST, grpc_client_jars, proxy_jars
from testing.rocketmq.jvm import JAVA_GRPC_SOURCES, JAVA_SOURCES, JavaProcess, compile_java
from testing.rocketmq.loopback import Broker, Client, LoopbackRocketMQ, subscribed
from tests.collector.certificates import self_signed

X = TypeVar("X", bound="Proxy")
PROXY_MAIN = "org.apache.rocketmq.proxy.ProxyStartup"
STARTS_WITHIN_S = 240  # proxies and clients end when they are not answered at once, and have to start again
SYNCER_TOPIC = "DefaultHeartBeatSyncerTopic"  # proxies tell each other there of their clients
SYNCER_GROUP = f"CID_{SYNCER_TOPIC}"


class Proxy(JavaProcess):
    """``remoting`` and ``endpoints``: its addresses for the remoting protocol and for gRPC."""

    remoting: str = ""
    endpoints: str = ""


class BrokerWithProxy(Broker, Proxy):
    """Local mode: both are one process."""


class GrpcConsumer(Client):
    """A client of a proxy. It chooses its id itself, and ``started`` says it in Java; in Go, only lists do."""

    stuck_while: Path

    def hang(self) -> None:
        """Listeners return from no message any more; all else goes on."""
        self.stuck_while.touch()

    def recover(self) -> None:
        self.stuck_while.unlink()

    @property
    def started_id(self) -> str | None:
        lines = (line.split() for line in self.log.splitlines() if line.startswith("started"))
        return next((words[1] for words in lines if len(words) > 1), None)

    @property
    def deliveries(self) -> dict[str, int]:
        """How often each message was delivered, by its id, of those that were consumed."""
        lines = (line.split() for line in self.log.splitlines() if line.startswith("consumed "))
        return {message: int(attempt) for _, _, message, attempt in lines}


class JavaGrpcConsumer(GrpcConsumer, JavaProcess):
    pass


class ProxiedRocketMQ(LoopbackRocketMQ):
    """Brokers, and proxies of their own (cluster mode). Proxies listen on every address: no setting changes that."""

    def __init__(
        self, brokers: Sequence[str] = ("broker-a", "broker-b"), proxies: Sequence[str] = ("proxy-a", "proxy-b")
    ) -> None:
        super().__init__(NEWEST, brokers)
        self._proxy_names = tuple(proxies)
        self.proxies: dict[str, Proxy] = {}
        self._grpc_classpath: list[Path] = []
        self._building = Lock()  # trials are played beside one another

    def create_group(self, name: str, *, fifo: bool) -> None:
        """On every broker. Clients of a FIFO group get the messages of a queue in order."""
        for broker in self.brokers.values():
            asking.set_group(broker.address, name, fifo=fifo)

    def grpc_consumer(
        self,
        group: str,
        name: str,
        topics: Mapping[str, str],
        *,
        proxy: str = "",
        kind: Literal["push", "simple"] = "push",
        language: Literal["java", "go"] = "java",
        sleep_ms: int = 0,
        invisible_s: int = 20,
        ack: bool = True,
    ) -> GrpcConsumer:
        """A client of one proxy, by default of the first, started. ``invisible_s``, ``ack``: of a simple one."""
        serving = self.proxies[proxy or next(iter(self.proxies))]
        stuck_while = self._home / f"{group}-{name}-{len(self._processes)}.stuck"
        said = {
            "endpoints": serving.endpoints, "group": group, "kind": kind, "topics": subscribed(topics),
            "threads": "2", "sleep_ms": str(sleep_ms), "invisible_s": str(invisible_s), "ack": str(ack).lower(),
            "stuck_while": str(stuck_while),
        }  # fmt: skip
        arguments = [f"{key}={value}" for key, value in said.items()]
        consumer: GrpcConsumer
        if language == "go":
            consumer = GrpcConsumer(stuck_while.stem, [str(self._go_program()), *arguments], self._home)
        else:
            command = ["-Xmx128m", "GrpcConsumer", *arguments]
            consumer = JavaGrpcConsumer(stuck_while.stem, command, self._grpc_classpath, self._home)
        consumer.group, consumer.stuck_while = group, stuck_while
        return self._started(consumer)

    def wait_until_consuming(self, consumer: GrpcConsumer) -> None:
        """One that gave up, since the machine was too busy to answer it, is started again."""

        def consumes() -> bool:
            if not consumer.is_running:
                consumer.start()
            return len(consumer.deliveries) > 1

        self.wait_until(consumes, f"{consumer.name} consumes", STARTS_WITHIN_S)

    def listed(self, group: str, proxy: str) -> tuple[str, ...]:
        """The client ids that a proxy lists, in order."""
        return asking.members_of(self.proxies[proxy].remoting, group)

    def add_proxy(self, name: str, namesrv: str = "") -> Proxy:
        """One more, by another way to the cluster; returns when it serves."""
        settings = {"proxyMode": "CLUSTER", "namesrvAddr": namesrv or self.namesrv}
        proxy = self._start_proxy(Proxy, name, settings)
        self.wait_for_proxy(name)
        return proxy

    def wait_for_proxy(self, name: str) -> None:
        """Until it serves. One that gave up, since the machine was too busy to answer it, is started again."""
        proxy = self.proxies[name]

        def is_up() -> bool:
            if not proxy.is_running:
                proxy.start()
            return asking.ask(proxy.remoting, asking.requests.consumer_list(SYNCER_GROUP)).frame is not None

        self.wait_until(is_up, f"{name} serves", STARTS_WITHIN_S)

    def _open(self) -> None:
        jars = grpc_client_jars()
        classes = self._home / "grpc_classes"
        compile_java([*sorted(JAVA_GRPC_SOURCES.glob("*.java")), JAVA_SOURCES / "Supervised.java"], jars, classes)
        self._grpc_classpath = [classes, *jars]
        self_signed(self._home, "localhost")
        super()._open()
        for name in self._proxy_names:
            self._start_proxy(Proxy, name, {"proxyMode": "CLUSTER"})
        for name in self._proxy_names:
            self.wait_for_proxy(name)

    def _start_proxy(self, kind: type[X], name: str, settings: Mapping[str, object]) -> X:
        """With a certificate that is there: to make one, as by default, takes a proxy minutes on a busy machine."""
        remoting, grpc = free_port(), free_port()
        config = self._home / f"{name}.json"
        config.write_text(
            json.dumps({
                "rocketMQClusterName": "Loopback", "proxyClusterName": "Loopback", "proxyName": name,
                "namesrvAddr": self.namesrv, "localServeAddr": "127.0.0.1", "remotingListenPort": remoting,
                "grpcServerPort": grpc, "tlsTestModeEnable": False, "tlsKeyPath": str(self._home / "key.pem"),
                "tlsCertPath": str(self._home / "certificate.pem"), **settings,
            })
        )  # fmt: skip
        command = ["-Xmx384m", f"-DRMQ_PROXY_HOME={self._home}", f"-Drocketmq.home.dir={self._home}"]
        command += ["-Dtls.server.mode=disabled", PROXY_MAIN, "-pc", str(config)]
        proxy = self.proxies[name] = kind(name, command, [self._classpath[0], *proxy_jars()], self._home)
        proxy.remoting, proxy.endpoints = f"127.0.0.1:{remoting}", f"127.0.0.1:{grpc}"
        return self._started(proxy)

    def _settings(self, name: str, port: int) -> dict[str, object]:
        """Brokers refuse every pop without the timer wheel. To write it each second takes an eighth of a processor."""
        return {**super()._settings(name, port), "timerWheelEnable": "true", "timerFlushIntervalMs": 10_000}

    def _go_program(self) -> Path:
        program = self._home / "go_grpc_client"
        with self._building:
            return program if program.exists() else build(GO_GRPC_SOURCES, self._home)


class LocallyProxiedRocketMQ(ProxiedRocketMQ):
    """Each broker runs in a proxy, which has its name (local mode)."""

    def __init__(self, brokers: Sequence[str] = ("broker-a",)) -> None:
        super().__init__(brokers, ())

    def _start_broker(self, name: str) -> None:
        port = free_port(-2)
        config = self._write(name, self._settings(name, port))
        settings = {"proxyMode": "LOCAL", "brokerConfigPath": str(config)}
        broker = self.brokers[name] = self._start_proxy(BrokerWithProxy, name, settings)
        broker.address = f"127.0.0.1:{port}"
