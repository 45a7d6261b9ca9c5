"""What was done to a real cluster, to be done to a simulated one: the measured faults (docs/simulation.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streaming.core.allocation import (
    Averagely,
    AveragelyByCircle,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    Strategy,
)
from streaming.simulation.consumer import AVERAGELY, Consumer, Manner
from streaming.simulation.fleet import Fleet

GROUP = "G"
RATE = 4  # messages a second that each queue is given


class Stage:
    """The cluster of one script; ``start`` counts clients i1, i2 and so on."""

    def __init__(self, script: Script, seed: int | str) -> None:
        self.fleet = Fleet(GROUP, script.brokers, seed)
        self.clients: dict[str, Consumer] = {}
        for topic, hosts in script.topics.items():
            self.fleet.put_topic(topic, hosts)
            self.fleet.producer.write(topic, RATE * sum(hosts.values()))
        self.began_ts = self.fleet.now

    def at(self, second: float, action: Callable[..., object], *arguments: object) -> None:
        self.fleet.agenda.at(self.began_ts + round(second * 1000), action, *arguments)

    def start(
        self, name: str, topic: str = "T", strategy: Strategy = AVERAGELY, instance: str | None = None, **manner: bool
    ) -> None:
        client_id = f"127.0.0.1@{instance or name}"
        self.clients[name] = self.fleet.join(client_id, Manner(((topic, "*"),), strategy, **manner))  # type: ignore[arg-type]

    def stop(self, name: str) -> None:
        self.fleet.leave(self.clients[name])

    def kill(self, name: str) -> None:
        self.fleet.kill(self.clients[name])

    def pause(self, name: str) -> None:
        self.clients[name].pause()

    def resume(self, name: str) -> None:
        self.clients[name].resume()


@dataclass(frozen=True)
class Script:
    """``seconds`` it runs; ``write`` puts on the agenda what is to happen."""

    about: str
    seconds: float
    write: Callable[[Stage], None]
    brokers: tuple[str, ...] = ("broker-a", "broker-b")
    topics: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: {"T": {"broker-a": 4, "broker-b": 4}})

    def play(self, seed: int | str, watch: Callable[[Fleet], None] | None = None) -> Stage:
        """Run it to its end. ``watch`` is given the fleet before anything happens."""
        stage = Stage(self, seed)
        if watch is not None:
            watch(stage.fleet)
        self.write(stage)
        stage.fleet.run(self.seconds)
        return stage


def _scale_out(stage: Stage) -> None:
    for second, name in ((2.6, "i1"), (4.0, "i2"), (31.0, "i3")):
        stage.at(second, stage.start, name)
    stage.at(63.1, stage.stop, "i2")


def _three(stage: Stage) -> None:
    for second, name in ((2.8, "i1"), (4.0, "i2"), (5.4, "i3")):
        stage.at(second, stage.start, name)


def _kill_9(stage: Stage) -> None:
    _three(stage)
    stage.at(31.8, stage.kill, "i2")


def _sigstop(seconds: float) -> Callable[[Stage], None]:
    def write(stage: Stage) -> None:
        _three(stage)
        stage.at(62.0, stage.pause, "i2")
        stage.at(62.0 + seconds, stage.resume, "i2")

    return write


def _same_id(stage: Stage) -> None:
    stage.at(2.4, lambda: stage.start("c1", instance="same"))
    stage.at(18.5, lambda: stage.start("c2", instance="same"))


def _subscriptions(stage: Stage) -> None:
    stage.at(3.5, stage.start, "i1", "T")
    stage.at(25.6, stage.start, "i2", "U")


def _strategies(stage: Stage) -> None:
    for second, name, strategy in (
        (2.0, "i1", Averagely()),
        (4.0, "i2", AveragelyByCircle()),
        (6.0, "i3", ConsistentHash()),
    ):
        stage.at(second, stage.start, name, "T", strategy)


def _machine_room(stage: Stage) -> None:
    for second, name in ((2.0, "i1"), (4.0, "i2")):
        stage.at(second, stage.start, name, "T", ByMachineRoom(frozenset({"r1"})))


def _nearby(stage: Stage) -> None:
    nearby = MachineRoomNearby(
        Averagely(),
        {"broker-a": "r1", "broker-b": "r2"},
        {"127.0.0.1@i1": "r1", "127.0.0.1@i2": "r1", "127.0.0.1@i3": "r2"},
    )
    for second, name in ((2.0, "i1"), (4.0, "i2"), (40.0, "i3")):
        stage.at(second, stage.start, name, "T", nearby)
    stage.at(80.0, stage.kill, "i3")


def _expand(stage: Stage) -> None:
    for second, name in ((4.3, "i1"), (7.3, "i2")):
        stage.at(second, stage.start, name)
    stage.at(35.1, stage.fleet.put_topic, "T", {"broker-a": 8, "broker-b": 8})


def _broadcast(stage: Stage) -> None:
    for second, name in ((2.4, "i1"), (3.8, "i2")):
        stage.at(second, lambda name=name: stage.start(name, broadcasting=True))


def _more_than_queues(stage: Stage) -> None:
    for second, name in ((3.1, "i1"), (5.0, "i2"), (7.1, "i3"), (10.5, "i4")):
        stage.at(second, stage.start, name)


def _broker_down(stage: Stage) -> None:
    for second, name in ((3.0, "i1"), (5.0, "i2")):
        stage.at(second, stage.start, name)
    stage.at(40.0, stage.fleet.stop_broker, "broker-b")
    stage.at(101.0, stage.fleet.start_broker, "broker-b")


def _orderly(stage: Stage) -> None:
    for second, name in ((2.0, "i1"), (4.0, "i2"), (30.0, "i3")):
        stage.at(second, lambda name=name: stage.start(name, orderly=True))
    stage.at(75.0, stage.kill, "i1")


_ROOMS = {"T": {"r1@broker-c": 4, "r2@broker-d": 4}}
_TWO_TOPICS = {name: {"broker-a": 4, "broker-b": 4} for name in ("T", "U")}
_FEW = {"T": {"broker-a": 1, "broker-b": 1}}

SCRIPTS: dict[str, Script] = {
    "a_scaleout": Script("a third client joins, a second is stopped", 93.2, _scale_out),
    "b_kill9": Script("kill -9 of one of three", 71.8, _kill_9),
    "c_sigstop": Script("SIGSTOP of one of three for 175 s", 300, _sigstop(175)),
    "d_sameid": Script("two JVMs with one client id", 74.5, _same_id),
    "e_subscriptions": Script("one group, two topics, a client each", 107.2, _subscriptions, topics=_TWO_TOPICS),
    "f_strategies": Script("three strategies in one group", 90, _strategies),
    "g_machineroom": Script("a room without consumers", 140, _machine_room, tuple(_ROOMS["T"]), _ROOMS),
    "g2_nearby": Script("a room without consumers, with one, and without again", 110, _nearby),
    "h_expand": Script("from 4 to 8 queues on each broker", 110.1, _expand),
    "i_broadcast": Script("every client owns every queue", 45, _broadcast),
    "j_more": Script("four clients, two queues", 57.5, _more_than_queues, topics=_FEW),
    "k_brokerdown": Script("kill -9 of a broker, back after 61 s", 200, _broker_down),
    "l_orderly": Script("orderly: a third joins, one is killed", 160, _orderly),
    "m_sigstop40": Script("SIGSTOP of one of three for 40 s", 140, _sigstop(40)),
}
