"""Members that are listed and do not consume as the others do."""

from __future__ import annotations

from dataclasses import replace

from streaming.simulation.consumer import Consumer
from streaming.simulation.proof.mishaps import Heal
from streaming.simulation.proof.world import TOPIC, World
from streaming.simulation.sdk import PULL

LOW_RATES = range(1, 5)  # messages a second of each queue
TOOL = "0.0.0.0@tool"


def stuck_at_a_low_rate(world: World) -> Heal:
    """A listener waits for ever, and messages come so slowly that pulls go on for minutes."""
    rate = world.random.choice(LOW_RATES)
    world.fleet.producer.write(TOPIC, rate * world.shape.queues * world.shape.brokers)
    victim = world.random.choice(world.with_queues() or world.clients)
    victim.work_at(0)
    return lambda: victim.work_at(world.manner.speed)


def pull_tool(world: World) -> Heal:
    """A ``DefaultMQPullConsumer`` under the group's name: it is listed, so it gets a share, and pulls none of it."""
    tool = _join(world)
    return lambda: _leave(world, tool)


def lite_assign(world: World) -> Heal:
    """A ``DefaultLitePullConsumer`` that was assigned queues by hand: it is listed and subscribes to nothing.

    Its heartbeats take the group's topics out of the brokers' tables (``ConsumerGroupInfo.updateSubscription``), until
    the next one of another client: pulls are refused meanwhile.
    """
    tool = _join(world)
    tool.topics, tool.versions = {}, {}
    world.fleet.subscribers_changed()
    return lambda: _leave(world, tool)


def _join(world: World) -> Consumer:
    tool = world.fleet.join(TOOL, replace(world.manner, sdk=PULL))
    tool.rebalance.is_stuck = True  # it has none
    return tool


def _leave(world: World, tool: Consumer) -> None:
    if tool.is_running:
        world.fleet.leave(tool)
