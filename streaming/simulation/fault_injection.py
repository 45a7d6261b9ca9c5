"""The functions that cause each fault as it happens in RocketMQ. Each returns a function that ends the fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.simulation.consumer import Consumer
from streaming.simulation.simulated_group import OTHER_TOPIC, ROOMS, TOPIC, SimulatedGroup

Undo = Callable[[], object]


def _restarted(group: SimulatedGroup, *clients: Consumer) -> None:
    for client in clients:
        if client.is_running:
            group.fleet.leave(client)
            group.restart(client, 3_000, group.config_of(client))


def end_clients(group: SimulatedGroup, *clients: Consumer) -> None:
    for client in clients:
        if client.is_running:
            group.fleet.leave(client)


def any_victim(group: SimulatedGroup) -> Consumer:
    return group.random.choice(group.with_queues() or group.clients)


def _set_until_undone(flag: str, *owners: object) -> Undo:
    def put(value: bool) -> None:
        for owner in owners:
            setattr(owner, flag, value)

    put(True)
    return partial(put, False)


def hang_listeners(group: SimulatedGroup, *clients: Consumer) -> Undo:
    def put(speed: int) -> None:
        for client in clients:
            client.set_speed(speed)

    put(0)
    return lambda: put(group.config.speed)


def same_client_id(group: SimulatedGroup) -> Undo:
    """Two containers have one client id: the instance name was set by hand, or the hosts' addresses are the same."""
    victim = any_victim(group)
    duplicate = group.start(victim.client_id, victim.config)
    return lambda: end_clients(group, duplicate)


def half_open(group: SimulatedGroup) -> Undo:
    """A short network failure. The client reconnects; brokers keep the dead connections."""
    any_victim(group).lose_connections()
    return lambda: None


def stopped(group: SimulatedGroup) -> Undo:
    """A client does not run: SIGSTOP, a frozen machine, or a very long garbage collection."""
    victim = any_victim(group)
    victim.pause()
    return victim.resume


def machine_lost(group: SimulatedGroup) -> Undo:
    """A machine is lost and its connections are not closed: brokers keep them until they expire."""
    victim = any_victim(group)
    group.fleet.kill(victim, is_noticed=False)
    return lambda: group.start(victim.client_id, group.config_of(victim))


def pull_service_dead(group: SimulatedGroup) -> Undo:
    victim = any_victim(group)
    victim.stop_pull_service()
    return lambda: _restarted(group, victim)


def stuck_code(group: SimulatedGroup) -> Undo:
    """A listener that waits without end for something else."""
    return hang_listeners(group, any_victim(group))


def different_topics(group: SimulatedGroup) -> Undo:
    """Another service uses the group's name for a topic of its own."""
    group.put_topic(group.shape.queues, OTHER_TOPIC)
    group.write(OTHER_TOPIC, group.shape.rate)
    others = [group.start(config=replace(group.config, topics=((OTHER_TOPIC, "*"),))) for _ in range(2)]
    group.mismatched_clients |= {other.client_id for other in others}
    return lambda: end_clients(group, *others)


def different_filters(group: SimulatedGroup) -> Undo:
    """One client subscribes with another filter; not a paused one, which cannot subscribe."""
    victim = group.random.choice([client for client in group.clients if not client.is_paused] or group.clients)
    victim.subscribe({TOPIC: "TagA || TagB"})
    group.mismatched_clients.add(victim.client_id)
    return lambda: victim.subscribe({TOPIC: "*"})


def mixed_strategies(group: SimulatedGroup) -> Undo:
    """A deploy that stopped half-way, or a service whose clients were configured one by one."""
    other = AveragelyByCircle() if not isinstance(group.strategy, AveragelyByCircle) else ConsistentHash()
    changed = group.random.sample(group.clients, max(1, len(group.clients) // 3))
    config = replace(group.config, strategy=other)
    for client in changed:
        group.fleet.leave(client)
        group.restart(client, 2_000, config)
    ids = {client.client_id for client in changed}
    return lambda: _restarted(group, *[c for c in group.clients if c.client_id in ids])


def cut_from_a_broker(group: SimulatedGroup) -> Undo:
    """A firewall or a missing network route between one client and one broker."""
    victim, broker = group.pick(), group.random.choice(group.brokers)
    group.fleet.disconnect(victim, broker)
    return lambda: group.fleet.reconnect(victim, broker)


def room_without_consumer(group: SimulatedGroup) -> Undo:
    """Brokers of a new machine room get the topic; no client is configured for the room."""
    group.strategy = type(group.strategy)(frozenset(ROOMS[:1]))
    config = group.config = replace(group.config, strategy=group.strategy)
    for client in list(group.clients):
        group.fleet.leave(client)
        group.restart(client, 2_000, config)
    return lambda: None


def config_misses_queue(group: SimulatedGroup) -> Undo:
    """The topic gets more queues; the lists in the clients' configuration do not."""
    group.put_topic(group.shape.queues + 1)
    return lambda: group.put_topic(group.shape.queues)


def old_route(group: SimulatedGroup) -> Undo:
    """The topic gets more queues. Some clients cannot reach the name servers, and rebalance over the old route."""
    cut = group.random.sample(group.clients, max(1, len(group.clients) // 2))
    undo = _set_until_undone("cannot_reach_name_server", *cut)
    group.put_topic(2 * group.shape.queues + 1)
    return undo


def queues_taken_away(group: SimulatedGroup) -> Undo:
    """The topic loses queues. A client that cannot reach the name servers keeps those that are gone."""
    undo = _set_until_undone("cannot_reach_name_server", any_victim(group))
    group.put_topic(max(1, group.shape.queues // 2))
    return undo


def lock_stuck(group: SimulatedGroup) -> Undo:
    """An orderly listener of a 4.x client hangs. Another client joins; the first renews locks of dropped queues."""
    for client in group.with_queues():
        client.rebalance.keeps_old_locks = True
    undo = hang_listeners(group, *group.with_queues()[:3])
    group.fleet.clock.after(20_000, group.start, "0.0.0.0@first")
    return undo


def not_taken_over(group: SimulatedGroup) -> Undo:
    """A client dies while the rebalance threads of the others hang in a listener."""
    victim = any_victim(group)
    undo = _set_until_undone("is_stuck", *(client.rebalance for client in group.clients if client is not victim))
    group.fleet.kill(victim)
    return undo


def clings(group: SimulatedGroup) -> Undo:
    """One client's rebalance thread hangs while others join: it keeps queues that are now theirs."""
    undo = _set_until_undone("is_stuck", any_victim(group).rebalance)
    group.start("0.0.0.0@first")
    return undo


def no_read_permission(group: SimulatedGroup) -> Undo:
    """``updateTopicPerm`` on one broker, to write-only."""
    name = group.random.choice(group.brokers)
    group.fleet.put_topic(TOPIC, {name: (group.shape.queues, group.shape.queues, 2)})
    return lambda: group.fleet.put_topic(TOPIC, {name: group.shape.queues})


def fewer_to_read(group: SimulatedGroup) -> Undo:
    """``readQueueNums`` is reduced first, to make a topic smaller, and producers still write to all queues."""
    name = group.random.choice(group.brokers)
    group.fleet.put_topic(TOPIC, {name: (group.shape.queues - 1, group.shape.queues, 6)})
    return lambda: group.fleet.put_topic(TOPIC, {name: group.shape.queues})


def all_gone(group: SimulatedGroup) -> Undo:
    ids = [client.client_id for client in group.clients]
    for client in list(group.clients):
        group.fleet.kill(client)
    return lambda: [group.start(client_id) for client_id in ids]


def flapping(group: SimulatedGroup) -> Undo:
    """A client that is killed and restarted repeatedly, as by a failing health check."""
    victim, going = group.pick(), [True]
    client_id, config = victim.client_id, victim.config

    def turn() -> None:
        if not going[0]:
            return
        alive = [client for client in group.clients if client.client_id == client_id]
        if alive:
            group.fleet.kill(alive[0])
        else:
            group.start(client_id, config)
        group.fleet.clock.after(15_000, turn)

    def undo() -> None:
        going[0] = False

    turn()
    return undo
