"""How a world stands before something is done to it, and how it is brought back there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from streaming.simulation.consumer import Consumer, Manner
from streaming.simulation.name_server import QueueData
from streaming.simulation.simulated_group import TOPIC, World


class Standing(NamedTuple):
    """By client id how each runs, and by broker the queues of the topic."""

    manners: Mapping[str, Manner]
    queues: Mapping[str, QueueData]


def standing_of(world: World) -> Standing:
    manners = {client.client_id: client.manner for client in world.clients}
    return Standing(manners, {name: broker.topics[TOPIC] for name, broker in world.fleet.brokers.items()})


def bring_back(world: World, before: Standing) -> None:
    """Whoever is new leaves, whoever is missing comes, and whoever runs otherwise than before is started again."""
    changed = {n: data for n, data in before.queues.items() if world.fleet.brokers[n].topics[TOPIC] != data}
    if changed:
        numbers = {n: (data.read_queue_nums, data.write_queue_nums, data.perm) for n, data in changed.items()}
        world.fleet.put_topic(TOPIC, numbers)
    there: set[str] = set()
    for client in list(world.clients):
        if client.client_id in there or not _runs_as(client, before.manners.get(client.client_id)):
            world.fleet.leave(client)
        else:
            there.add(client.client_id)
    for client_id, manner in before.manners.items():
        if client_id not in there:
            world.start(client_id, manner)


def _runs_as(client: Consumer, manner: Manner | None) -> bool:
    is_hindered = client.is_paused or client.pulls_no_more or client.cannot_reach or client.cannot_reach_name_server
    rebalance = client.rebalance
    is_changed = client.manner != manner or client.topics.items() < dict(client.manner.topics).items()
    return not (is_hindered or is_changed or rebalance.is_stuck or rebalance.keeps_old_locks)
