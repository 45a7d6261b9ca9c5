"""A running group of gRPC clients of a given or random shape, behind two proxies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from bench.proof.grpc_consumer import SDKS, THREADS, GrpcConsumer
from bench.proof.pop_fleet import PopFleet
from bench.proof.popping import IN_ORDER_AT_ONCE, INVISIBLE_MS

TOPIC = "T"
HOSTS = ("10.1.0.1", "10.1.0.2")  # of the first proxies
WARM_UP_S = 150
KINDS_OF_CLIENTS = ("push", "simple", "fifo")
SDK_WEIGHTS = {"Java": 5, "Go": 3, "Python": 2, "Node": 1, "C++": 1, "Rust": 1}
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
SPARE = 3  # how many times as much as is written a group can work off
AWAY_S = (30, 60)  # for how long a proxy or a broker is away
SELDOM_MS = (5_000, 120_000)  # between two messages, where few come


@dataclass(frozen=True, slots=True)
class PopShape:
    """The shape of a group. ``queues``: on each broker.

    ``rate``: messages a second of each queue; 0: a few come now and then, to any queue.
    ``kind``: of its clients: push, simple or fifo. ``is_balanced``: clients reach all proxies at one address, so that
    another one serves them when theirs is gone. Else each has its own proxy.
    """

    clients: int
    brokers: int
    queues: int
    rate: int
    kind: str
    sdk: str
    is_balanced: bool

    def __str__(self) -> str:
        at = "balanced" if self.is_balanced else "each at its proxy"
        many = "" if self.rate else ", few messages"
        return f"{self.clients} {self.sdk} {self.kind}, {self.brokers} x {self.queues} queues, {at}{many}"


def random_shape(random: Random, **fixed: object) -> PopShape:
    """``fixed``: fields with given values."""
    shape = {
        "clients": random.choice((1, 2, 2, 3, 3, 4, 6, 8, 12)),
        "brokers": random.choice((1, 2, 2, 3)),
        "queues": random.choice((1, 2, 4, 8)),
        "rate": random.choice((0, 0, 1, 2, 5, 20)),
        "kind": random.choices(KINDS_OF_CLIENTS, (5, 2, 2))[0],
        "sdk": random.choices(tuple(SDK_WEIGHTS), tuple(SDK_WEIGHTS.values()))[0],
        "is_balanced": random.random() < 0.5,
    }
    return PopShape(**(shape | fixed))  # type: ignore[arg-type]


class PopGroup:
    """A ``Group`` of gRPC clients. From the end of ``warm_up`` on all consume. Brokers store offsets every 5 s."""

    least_brokers, most_queues, broker_back_s, lost_ms, step_ms, deploy_ends_ms = 1, 16, 90, 5_000, 30_000, 15_000

    def __init__(self, shape: PopShape, seed: str, invisible_ms: int = INVISIBLE_MS) -> None:
        self.shape, self.random = shape, Random(f"{seed}/world")
        self.brokers = [f"broker-{n}" for n in range(shape.brokers)]
        self.fleet = PopFleet("G", TOPIC, self.brokers, HOSTS, seed, shape.kind == "fifo", invisible_ms)
        self.proxies = list(self.fleet.proxies.values())
        self.put_topic(shape.queues)
        self._writes_seldom = False
        self.write(shape.rate)
        self._write_seldom()
        self.began_ts = self.fleet.now
        self.work_ms = self.random.randrange(5, self._longest_work_ms())
        self._started = 0

    def _longest_work_ms(self) -> int:
        """So that half of the clients can work off what is written."""
        shape = self.shape
        if shape.kind == "fifo":
            return max(10, 1_000 * IN_ORDER_AT_ONCE // (SPARE * self.most_rate))
        threads = max(1, shape.clients // 2) * max(shape.brokers, THREADS)
        return min(2_000, max(10, 1_000 * threads // (SPARE * self.most_rate * shape.queues * shape.brokers)))

    @property
    def most_rate(self) -> int:
        """Messages a second of each queue, at most, where nothing else is written."""
        return max(1, self.shape.rate)

    @property
    def least_clients(self) -> int:
        return max(1, self.shape.clients // 2)

    @property
    def clients(self) -> list[GrpcConsumer]:
        return self.fleet.consumers

    def put_topic(self, queues: int) -> None:
        """Set the number of queues on each broker from now on."""
        self.fleet.put_topic(TOPIC, dict.fromkeys(self.brokers, queues))

    def write(self, rate: int) -> None:
        """Write ``rate`` messages a second to each of the queues that the topic had first; as usual: see the shape."""
        self._writes_seldom = rate == self.shape.rate == 0
        self.fleet.producer.write(TOPIC, rate * self.shape.queues * self.shape.brokers)

    def write_to_all(self) -> None:
        """A message to each queue, where else few come."""
        for name in self.brokers if not self.shape.rate else ():
            for queue in self.fleet.poppings[name].queues:
                self.fleet.write_to(queue, 1)

    def _write_seldom(self) -> None:
        self.fleet.clock.after(self.random.randrange(*SELDOM_MS), self._write_seldom)
        up = [name for name in self.brokers if self.fleet.brokers[name].is_up]
        if self._writes_seldom and up:
            queue = self.random.choice(self.fleet.poppings[self.random.choice(up)].queues)
            self.fleet.write_to(queue, self.random.randrange(1, 4))

    def warm_up(self) -> None:
        for _ in range(self.shape.clients):
            self.start()
        self.fleet.run(WARM_UP_S)

    def start(self) -> None:
        self._started += 1
        number = self._started
        self.fleet.start_consumer(
            GrpcConsumer(
                client_id=self._new_id(),
                sdk=SDKS[self.shape.sdk],
                pulls=self.shape.kind == "simple",
                started_ts=self.fleet.now,
                home=None if self.shape.is_balanced else self.proxies[number % len(self.proxies)],
                work_ms=self.work_ms,
                phase=self.random.randrange(self.work_ms),
            )
        )

    def _new_id(self) -> str:
        """As the SDK makes it (docs/clients.md). Each pod is its own host."""
        host, process = f"orders-{self._started}-{self.random.randrange(10**5)}", self.random.randrange(1, 65_536)
        if self.shape.sdk == "Rust":
            return f"{host}@{process}#0"
        if self.shape.sdk == "C++":
            return f"{host}@{process}#0_{self.fleet.now}"
        return f"{host}@{process}@0@{''.join(self.random.choices(DIGITS, k=10))}"

    def restart(self, client: GrpcConsumer, delay_ms: int) -> None:
        """Start a client in place of one that was stopped, under a new id as always."""
        self.fleet.clock.after(delay_ms, self.start)

    def settle(self, seconds: int) -> None:
        """Wait for a client that starts again, so that there is one."""
        self.fleet.run(seconds)

    def change(self) -> None:
        """A deploy brings no other configuration."""

    def replace(self, client: GrpcConsumer, config: None, is_other_way: bool) -> None:
        """By one that starts before, or afterwards."""
        if not client.is_running:
            return
        if is_other_way:
            self.start()
        self.fleet.leave(client)
        if not is_other_way:
            self.restart(client, self.random.randrange(1_000, 15_000))

    def replace_proxy(self, number: int) -> None:
        """A new proxy on another host takes the place of one, as in Kubernetes; the old one is stopped for good."""
        old, host = self.proxies[number], f"10.1.1.{len(self.fleet.proxies)}"
        self.proxies[number] = self.fleet.add_proxy(host)
        self.fleet.clock.after(self.random.randrange(1_000, 30_000), self.fleet.stop_proxy, old, True)

    def set_work_ms(self, work_ms: int) -> None:
        """What the listeners of all clients take for one message, now and later."""
        for name in self.brokers:
            self.fleet.poppings[name].catch_up(self.fleet.now)
        self.work_ms = work_ms
        for client in self.clients:
            client.work_ms = work_ms

    def slow_down(self) -> Callable[[], object]:
        """Clients consume more slowly than messages come, until the answer is called."""
        usual_ms = self.work_ms
        self.set_work_ms(8_000 // self.most_rate)
        return partial(self.set_work_ms, usual_ms)

    def broker_away_ms(self) -> int:
        return self.random.randrange(*AWAY_S) * 1_000

    def pick(self) -> GrpcConsumer:
        return self.random.choice(self.clients)
