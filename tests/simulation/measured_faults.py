"""What was done to a real cluster, to be done to a simulated one: the measured faults (docs/simulation.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.by_machine_room import ByMachineRoom
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.machine_room_nearby import MachineRoomNearby
from streaming.core.allocation.strategy import Strategy
from streaming.simulation.client_config import AVERAGELY, ClientConfig
from streaming.simulation.consumer import Consumer
from streaming.simulation.fleet import Fleet

GROUP = "G"
RATE = 4  # messages a second that each queue is given


class Cluster:
    """The cluster of one script, with clients by name."""

    def __init__(self, script: Script, seed: int | str) -> None:
        self.fleet = Fleet(GROUP, script.brokers, seed)
        self.clients: dict[str, Consumer] = {}
        for topic, hosts in script.topics.items():
            self.fleet.put_topic(topic, hosts)
            self.fleet.producer.write(topic, RATE * sum(hosts.values()))
        self.began_ts = self.fleet.now

    def start(self, name: str, topic: str, strategy: Strategy, instance: str, **config: bool) -> None:
        self.clients[name] = self.fleet.join(
            f"127.0.0.1@{instance}", ClientConfig(((topic, "*"),), strategy, **config)  # type: ignore[arg-type]
        )  # fmt: skip


Step = tuple[float, Callable[[Cluster], object]]  # at which second, and what is done


def start(
    second: float, name: str, topic: str = "T", strategy: Strategy = AVERAGELY, instance: str = "", **config: bool
) -> Step:
    return second, lambda cluster: cluster.start(name, topic, strategy, instance or name, **config)


def start_each(*seconds: float, strategy: Strategy = AVERAGELY, **config: bool) -> tuple[Step, ...]:
    """Clients i1, i2 and so on."""
    return tuple(start(second, f"i{n}", strategy=strategy, **config) for n, second in enumerate(seconds, 1))


def stop(second: float, name: str) -> Step:
    return second, lambda cluster: cluster.fleet.leave(cluster.clients[name])


def kill(second: float, name: str) -> Step:
    return second, lambda cluster: cluster.fleet.kill(cluster.clients[name])


def pause(second: float, name: str, seconds: float) -> tuple[Step, Step]:
    """SIGSTOP, and SIGCONT so many seconds later."""
    return (
        (second, lambda cluster: cluster.clients[name].pause()),
        (second + seconds, lambda cluster: cluster.clients[name].resume()),
    )


@dataclass(frozen=True)
class Script:
    """``seconds`` it runs."""

    about: str
    seconds: float
    steps: tuple[Step, ...]
    brokers: tuple[str, ...] = ("broker-a", "broker-b")
    topics: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: {"T": {"broker-a": 4, "broker-b": 4}})

    def play(self, seed: int | str, watch: Callable[[Fleet], object] = lambda _: None) -> Cluster:
        """Run it to its end. ``watch`` is given the fleet before anything happens."""
        cluster = Cluster(self, seed)
        watch(cluster.fleet)
        for second, action in self.steps:
            cluster.fleet.clock.at(cluster.began_ts + round(second * 1000), action, cluster)
        cluster.fleet.run(self.seconds)
        return cluster


NEARBY = MachineRoomNearby(
    Averagely(),
    {"broker-a": "r1", "broker-b": "r2"},
    {"127.0.0.1@i1": "r1", "127.0.0.1@i2": "r1", "127.0.0.1@i3": "r2"},
)
ROOMS = {"T": {"r1@broker-c": 4, "r2@broker-d": 4}}
TWO_TOPICS = {name: {"broker-a": 4, "broker-b": 4} for name in ("T", "U")}
TWO_QUEUES = {"T": {"broker-a": 1, "broker-b": 1}}
THREE = start_each(2.8, 4.0, 5.4)

SCRIPTS: dict[str, Script] = {
    "a_scaleout": Script(
        "a third client joins, a second is stopped", 93.2, (*start_each(2.6, 4.0, 31.0), stop(63.1, "i2"))
    ),
    "b_kill9": Script("kill -9 of one of three", 71.8, (*THREE, kill(31.8, "i2"))),
    "c_sigstop": Script("SIGSTOP of one of three for 175 s", 300, (*THREE, *pause(62.0, "i2", 175))),
    "d_sameid": Script(
        "two JVMs with one client id", 74.5, (start(2.4, "c1", instance="same"), start(18.5, "c2", instance="same"))
    ),
    "e_subscriptions": Script(
        "one group, two topics, a client each", 107.2, (start(3.5, "i1"), start(25.6, "i2", "U")), topics=TWO_TOPICS
    ),
    "f_strategies": Script(
        "three strategies in one group",
        90,
        (
            start(2.0, "i1", strategy=Averagely()),
            start(4.0, "i2", strategy=AveragelyByCircle()),
            start(6.0, "i3", strategy=ConsistentHash()),
        ),
    ),
    "g_machineroom": Script(
        "a room without consumers",
        140,
        start_each(2.0, 4.0, strategy=ByMachineRoom(frozenset({"r1"}))),
        tuple(ROOMS["T"]),
        ROOMS,
    ),
    "g2_nearby": Script(
        "a room without consumers, with one, and without again",
        110,
        (*start_each(2.0, 4.0, 40.0, strategy=NEARBY), kill(80.0, "i3")),
    ),
    "h_expand": Script(
        "from 4 to 8 queues on each broker",
        110.1,
        (
            *start_each(4.3, 7.3),
            (35.1, lambda cluster: cluster.fleet.put_topic("T", {"broker-a": 8, "broker-b": 8})),
        ),
    ),
    "i_broadcast": Script("every client owns every queue", 45, start_each(2.4, 3.8, broadcasting=True)),
    "j_more": Script("four clients, two queues", 57.5, start_each(3.1, 5.0, 7.1, 10.5), topics=TWO_QUEUES),
    "k_brokerdown": Script(
        "kill -9 of a broker, back after 61 s",
        200,
        (
            *start_each(3.0, 5.0),
            (40.0, lambda cluster: cluster.fleet.stop_broker("broker-b")),
            (101.0, lambda cluster: cluster.fleet.start_broker("broker-b")),
        ),
    ),
    "l_orderly": Script(
        "orderly: a third joins, one is killed", 160, (*start_each(2.0, 4.0, 30.0, orderly=True), kill(75.0, "i1"))
    ),
    "m_sigstop40": Script("SIGSTOP of one of three for 40 s", 140, (*THREE, *pause(62.0, "i2", 40))),
}
