"""A running group of a simulated fleet, of remoting or of gRPC clients: what operations and faults can do to both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Protocol

from bench.proof.pop_group import PopShape
from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.consumer import Consumer
from streaming.simulation.fleet import Fleet
from streaming.simulation.simulated_group import TOPIC, Shape, SimulatedGroup

OLD_OFFSETS_MS = 140_000  # a group has run for longer when a fault begins
RELEASED_AFTER_MS = 65_000  # clients ask for routes every 30 s, and rebalance every 20 s


class Group(Protocol):
    """A running group. Its clients are of one kind, which ``fleet.leave`` and ``fleet.kill`` take.

    ``least_clients``: it is not made smaller. ``most_queues``: nor its topic larger, on each broker. ``least_brokers``:
    with fewer none of them restarts. ``broker_back_s``: until all is well after one did. ``lost_ms``: a broker that
    crashes loses the offsets of less. ``step_ms``: less is between two steps of a deploy; ``deploy_ends_ms``: its end.
    """

    brokers: list[str]
    random: Random
    least_brokers: int
    broker_back_s: int
    lost_ms: int
    step_ms: int
    deploy_ends_ms: int

    @property
    def fleet(self) -> Fleet: ...
    @property
    def shape(self) -> Shape | PopShape: ...
    @property
    def clients(self) -> Sequence[Any]: ...
    @property
    def least_clients(self) -> int: ...
    @property
    def most_queues(self) -> int: ...

    def start(self) -> object: ...
    def restart(self, client: Any, delay_ms: int) -> object: ...
    def pick(self) -> Any: ...
    def put_topic(self, queues: int) -> None: ...
    def settle(self, seconds: int) -> None:
        """Wait for a client that starts again, where the group could be without any."""

    def change(self) -> Any:
        """The configuration that a deploy brings."""

    def replace(self, client: Any, config: Any, is_other_way: bool) -> None:
        """A step of a deploy, in one of two ways."""

    def slow_down(self) -> Callable[[], object]:
        """Clients consume more slowly than messages come, until the answer is called."""

    def broker_away_ms(self) -> int:
        """How long a broker is away that is back with old offsets."""


class RemotingGroup(SimulatedGroup):
    """A group of remoting clients. Brokers store offsets every 5 s, which clients commit every 5 s."""

    least_clients, least_brokers, broker_back_s, lost_ms, step_ms, deploy_ends_ms = 1, 2, 120, 10_000, 20_000, 0

    @property
    def most_queues(self) -> int:
        return 1_024 // len(self.brokers)

    def settle(self, seconds: int) -> None:
        """There is time before the next operation."""

    def change(self) -> ClientConfig:
        """Sometimes another strategy or another filter."""
        if self.random.random() < 0.25 and self.shape.strategy == "AVG":
            self.config = replace(self.config, strategy=AveragelyByCircle())
        elif self.random.random() < 0.25:
            self.config = replace(self.config, topics=((TOPIC, self.random.choice(("TagA", "TagA || TagB"))),))
        return self.config

    def replace(self, client: Consumer, config: ClientConfig, is_other_way: bool) -> None:
        """Under its own id, or under another one."""
        if not client.is_running:
            return
        self.fleet.leave(client)
        delay_ms = self.random.randrange(1_000, 15_000)
        if is_other_way:
            self.restart(client, delay_ms, config)
        else:
            self.fleet.clock.after(delay_ms, lambda: self.start(config=config))

    def slow_down(self) -> Callable[[], object]:
        usual = self.config

        def put(config: ClientConfig) -> None:
            self.config = config
            for client in self.clients:
                client.set_speed(config.speed)

        put(replace(usual, speed=max(1, self.shape.rate // 2)))
        return lambda: put(usual)

    def broker_away_ms(self) -> int:
        """Clients have given its queues up by then."""
        return RELEASED_AFTER_MS


def broker_is_away(group: Group, name: str, away_ms: int, lost_ms: int) -> None:
    """The broker is killed, and is back with the offsets of ``lost_ms`` ago."""
    fleet = group.fleet
    fleet.stop_broker(name)

    def back() -> None:
        for progress in fleet.brokers[name].progresses(fleet.group):
            progress.put_offset_back(progress.committed - group.shape.rate * lost_ms // 1_000, fleet.now)
        fleet.start_broker(name)

    fleet.clock.after(away_ms, back)


def old_offsets(group: Group) -> Callable[[], object]:
    """A broker is away, and has older offsets when it is back, as a slave that lags.

    Clients that consume more slowly than messages come take some time to consume the same again.
    """
    name, undo = group.random.choice(group.brokers), group.slow_down()
    broker_is_away(group, name, group.broker_away_ms(), OLD_OFFSETS_MS)
    return undo
