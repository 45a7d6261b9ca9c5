"""Clients and brokers that report less than those of RocketMQ 5 in Java."""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

from streaming.simulation.client_config import GO, JAVA, MUTE, PULL, Sdk
from streaming.simulation.evaluation.perturbations.context import PerturbationContext


def _put(context: PerturbationContext, sdk: Sdk, share: float) -> None:
    """Give this SDK to some of the clients, to the same ones after a restart."""
    salt = context.random.randrange(1 << 30)

    def sdk_of(client_id: str) -> Sdk:
        return sdk if crc32(f"{client_id} {salt}".encode()) < share * (1 << 32) else JAVA

    context.group.sdk_of = sdk_of


def mute(context: PerturbationContext) -> None:
    """An SDK that never answers for its running info, in all clients or in one of four."""
    _put(context, MUTE, context.random.choice((1.0, 0.25)))


def foreign(context: PerturbationContext) -> None:
    """Go in all clients or in half of them; for one group in two, connections (203) are refused everywhere; a group in
    four is broadcasting."""
    _put(context, GO, context.random.choice((1.0, 0.5)))
    group = context.group
    if context.random.random() < 0.5:
        for broker in group.fleet.brokers.values():
            broker.answers_connections = False
    if (
        context.random.random() < 0.25
        and context.is_healthy
        and group.shape.strategy == "AVG"
        and not group.shape.orderly
    ):
        group.config = replace(group.config, broadcasting=True)


def pull_consumers(context: PerturbationContext) -> None:
    """A group of ``DefaultMQPullConsumer``: none of its running infos has a table of queues."""
    _put(context, PULL, 1.0)


def old_brokers(context: PerturbationContext) -> None:
    """Brokers of 4.x, which do not report pull offsets."""
    for broker in context.group.fleet.brokers.values():
        broker.tells_pull_offsets = False
