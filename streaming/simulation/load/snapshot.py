"""A simulated group before a disruption, and its restoration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from streaming.simulation.client_config import ClientConfig
from streaming.simulation.consumer import Consumer
from streaming.simulation.name_server import QueueData
from streaming.simulation.simulated_group import TOPIC, SimulatedGroup


class GroupSnapshot(NamedTuple):
    """The configuration of each client, and the topic's queues by broker."""

    configs: Mapping[str, ClientConfig]
    queues: Mapping[str, QueueData]


def snapshot_of(group: SimulatedGroup) -> GroupSnapshot:
    configs = {client.client_id: client.config for client in group.clients}
    return GroupSnapshot(configs, {name: broker.topics[TOPIC] for name, broker in group.fleet.brokers.items()})


def restore(group: SimulatedGroup, before: GroupSnapshot) -> None:
    """Restore the group: new clients leave, missing ones start, and clients with another configuration restart."""
    changed = {n: data for n, data in before.queues.items() if group.fleet.brokers[n].topics[TOPIC] != data}
    if changed:
        numbers = {n: (data.read_queue_nums, data.write_queue_nums, data.perm) for n, data in changed.items()}
        group.fleet.put_topic(TOPIC, numbers)
    there: set[str] = set()
    for client in list(group.clients):
        if client.client_id in there or not _runs_as(client, before.configs.get(client.client_id)):
            group.fleet.leave(client)
        else:
            there.add(client.client_id)
    for client_id, config in before.configs.items():
        if client_id not in there:
            group.start(client_id, config)


def _runs_as(client: Consumer, config: ClientConfig | None) -> bool:
    is_hindered = (
        client.is_paused or client.pull_service_is_dead or client.cannot_reach or client.cannot_reach_name_server
    )
    rebalance = client.rebalance
    is_changed = client.config != config or client.topics.items() < dict(client.config.topics).items()
    return not (is_hindered or is_changed or rebalance.is_stuck or rebalance.keeps_old_locks)
