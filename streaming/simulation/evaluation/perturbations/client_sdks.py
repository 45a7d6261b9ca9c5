"""Clients and brokers that tell less than those of RocketMQ 5 in Java."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

from streaming.simulation.client_sdk import GO, JAVA, MUTE, PULL, Sdk
from streaming.simulation.evaluation.perturbations.context import Stage


def _put(stage: Stage, sdk: Sdk, share: float) -> None:
    """So many of the clients run it, the same ones after a restart."""
    salt = stage.random.randrange(1 << 30)

    def sdk_of(client_id: str) -> Sdk:
        return sdk if crc32(f"{client_id} {salt}".encode()) < share * (1 << 32) else JAVA

    stage.world.sdk_of = sdk_of


def mute(stage: Stage) -> None:
    """An SDK that never answers for its running info, in all clients or in one of four."""
    _put(stage, MUTE, stage.random.choice((1.0, 0.25)))


def foreign(stage: Stage) -> None:
    """Go in all clients or in half of them; for one group in two, connections (203) are refused everywhere; a group in
    four is broadcasting."""
    _put(stage, GO, stage.random.choice((1.0, 0.5)))
    world = stage.world
    if stage.random.random() < 0.5:
        for broker in world.fleet.brokers.values():
            broker.answers_connections = False
    if stage.random.random() < 0.25 and stage.is_healthy and world.shape.strategy == "AVG" and not world.shape.orderly:
        world.manner = replace(world.manner, broadcasting=True)


def pull_consumers(stage: Stage) -> None:
    """A group of ``DefaultMQPullConsumer``: none of its running infos has a table of queues."""
    _put(stage, PULL, 1.0)


def old_brokers(stage: Stage) -> None:
    """Brokers of 4.x, which do not tell pull offsets."""
    for broker in stage.world.fleet.brokers.values():
        broker.tells_pull_offsets = False
