"""How RocketMQ's fleets are brought into trouble: each gives back how it is mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streaming.core.allocation import AveragelyByCircle, ConsistentHash
from streaming.simulation.client_sdk import PULL
from streaming.simulation.consumer import Consumer
from streaming.simulation.simulated_group import OTHER_TOPIC, ROOMS, TOPIC, World

Heal = Callable[[], object]
LOW_RATES = range(1, 5)  # messages a second of each queue
TOOL = "0.0.0.0@tool"


def _restarted(world: World, *clients: Consumer) -> None:
    for client in clients:
        if client.is_running:
            world.fleet.leave(client)
            world.restart(client, 3_000, world.manner_of(client))


def _gone(world: World, *clients: Consumer) -> None:
    for client in clients:
        if client.is_running:
            world.fleet.leave(client)


def _victim(world: World) -> Consumer:
    return world.random.choice(world.with_queues() or world.clients)


def same_client_id(world: World) -> Heal:
    """Two containers carry one id: its instance name was set by hand, or its host's address is the same."""
    victim = _victim(world)
    twin = world.start(victim.client_id, victim.manner)
    return lambda: _gone(world, twin)


def half_open(world: World) -> Heal:
    """A network blip: the client connects anew, brokers keep the dead connections."""
    _victim(world).lose_connections()
    return lambda: None


def stopped(world: World) -> Heal:
    """SIGSTOP, a frozen machine, a very long garbage collection."""
    victim = _victim(world)
    victim.pause()
    return victim.resume


def machine_lost(world: World) -> Heal:
    """The machine goes away without a word: brokers keep its connection until it expires."""
    victim = _victim(world)
    world.fleet.kill(victim, is_noticed=False)
    return lambda: world.start(victim.client_id, world.manner_of(victim))


def pull_service_dead(world: World) -> Heal:
    victim = _victim(world)
    victim.pull_no_more()
    return lambda: _restarted(world, victim)


def stuck_code(world: World) -> Heal:
    """A listener that waits for ever for something else."""
    victim = _victim(world)
    victim.work_at(0)
    return lambda: victim.work_at(world.manner.speed)


def different_topics(world: World) -> Heal:
    """Another service uses the group's name for a topic of its own."""
    world.fleet.put_topic(OTHER_TOPIC, dict.fromkeys(world.brokers, world.shape.queues))
    world.fleet.producer.write(OTHER_TOPIC, world.shape.rate * world.shape.queues * world.shape.brokers)
    others = [world.start(manner=replace(world.manner, topics=((OTHER_TOPIC, "*"),))) for _ in range(2)]
    world.odd_ones |= {other.client_id for other in others}
    return lambda: _gone(world, *others)


def different_filters(world: World) -> Heal:
    victim = world.pick()
    victim.subscribe({TOPIC: "TagA || TagB"})
    world.odd_ones.add(victim.client_id)
    return lambda: victim.subscribe({TOPIC: "*"})


def mixed_strategies(world: World) -> Heal:
    """A deploy that was left half-way, or a service whose clients were configured one by one."""
    other = AveragelyByCircle() if not isinstance(world.strategy, AveragelyByCircle) else ConsistentHash()
    changed = world.random.sample(world.clients, max(1, len(world.clients) // 3))
    manner = replace(world.manner, strategy=other)
    for client in changed:
        world.fleet.leave(client)
        world.restart(client, 2_000, manner)
    ids = {client.client_id for client in changed}
    return lambda: _restarted(world, *[c for c in world.clients if c.client_id in ids])


def cut_from_a_broker(world: World) -> Heal:
    """A firewall, or a route that is missing, between one client and one broker."""
    victim, broker = world.pick(), world.random.choice(world.brokers)
    world.fleet.cut(victim, broker)
    return lambda: world.fleet.mend(victim, broker)


def room_without_consumer(world: World) -> Heal:
    """Brokers of a new room take the topic; no client is configured for it."""
    world.strategy = type(world.strategy)(frozenset(ROOMS[:1]))  # type: ignore[call-arg]
    manner = world.manner = replace(world.manner, strategy=world.strategy)
    for client in list(world.clients):
        world.fleet.leave(client)
        world.restart(client, 2_000, manner)
    return lambda: None


def config_misses_queue(world: World) -> Heal:
    """The topic grows; the lists in the clients' configuration do not."""
    world.fleet.put_topic(TOPIC, dict.fromkeys(world.brokers, world.shape.queues + 1))
    return lambda: world.fleet.put_topic(TOPIC, dict.fromkeys(world.brokers, world.shape.queues))


def old_route(world: World) -> Heal:
    """The topic grows while some clients cannot reach the name servers: they share out the old route."""
    cut = world.random.sample(world.clients, max(1, len(world.clients) // 2))
    for client in cut:
        client.cannot_reach_name_server = True
    world.fleet.put_topic(TOPIC, dict.fromkeys(world.brokers, 2 * world.shape.queues + 1))

    def heal() -> None:
        for client in cut:
            client.cannot_reach_name_server = False

    return heal


def queues_taken_away(world: World) -> Heal:
    """The topic shrinks; a client that cannot reach the name servers clings to what is gone."""
    victim = _victim(world)
    victim.cannot_reach_name_server = True
    world.fleet.put_topic(TOPIC, dict.fromkeys(world.brokers, max(1, world.shape.queues // 2)))

    def heal() -> None:
        victim.cannot_reach_name_server = False

    return heal


def lock_stuck(world: World) -> Heal:
    """Orderly code of a 4.x client does not return; a client joins; the first renews the locks of what it dropped."""
    for client in world.with_queues():
        client.rebalance.keeps_old_locks = True
    victims = world.with_queues()[:3]
    for victim in victims:
        victim.work_at(0)
    world.fleet.agenda.after(20_000, world.start, "0.0.0.0@first")

    def heal() -> None:
        for victim in victims:
            victim.work_at(world.manner.speed)

    return heal


def not_taken_over(world: World) -> Heal:
    """A client dies while the rebalance threads of the others hang in a listener."""
    victim = _victim(world)
    others = [client for client in world.clients if client is not victim]
    for other in others:
        other.rebalance.is_stuck = True
    world.fleet.kill(victim)

    def heal() -> None:
        for other in others:
            other.rebalance.is_stuck = False

    return heal


def clings(world: World) -> Heal:
    """One client's rebalance thread hangs while others join: it keeps what is theirs by now."""
    victim = _victim(world)
    victim.rebalance.is_stuck = True
    world.start("0.0.0.0@first")

    def heal() -> None:
        victim.rebalance.is_stuck = False

    return heal


def no_read_permission(world: World) -> Heal:
    """``updateTopicPerm`` on one broker, to write only."""
    name = world.random.choice(world.brokers)
    world.fleet.put_topic(TOPIC, {name: (world.shape.queues, world.shape.queues, 2)})
    return lambda: world.fleet.put_topic(TOPIC, {name: world.shape.queues})


def fewer_to_read(world: World) -> Heal:
    """``readQueueNums`` was made smaller first, as a topic is shrunk, and producers write on."""
    name = world.random.choice(world.brokers)
    world.fleet.put_topic(TOPIC, {name: (world.shape.queues - 1, world.shape.queues, 6)})
    return lambda: world.fleet.put_topic(TOPIC, {name: world.shape.queues})


def all_gone(world: World) -> Heal:
    ids = [client.client_id for client in world.clients]
    for client in list(world.clients):
        world.fleet.kill(client)
    return lambda: [world.start(client_id) for client_id in ids]


def flapping(world: World) -> Heal:
    """A client that is killed and started again and again, as by a failing health check."""
    victim, going = world.pick(), [True]
    client_id, manner = victim.client_id, victim.manner

    def turn() -> None:
        if not going[0]:
            return
        alive = [client for client in world.clients if client.client_id == client_id]
        if alive:
            world.fleet.kill(alive[0])
        else:
            world.start(client_id, manner)
        world.fleet.agenda.after(15_000, turn)

    def heal() -> None:
        going[0] = False

    turn()
    return heal


# Members that are listed and do not consume as the others do.


def stuck_at_a_low_rate(world: World) -> Heal:
    """A listener waits for ever, and messages come so slowly that pulls go on for minutes."""
    rate = world.random.choice(LOW_RATES)
    world.fleet.producer.write(TOPIC, rate * world.shape.queues * world.shape.brokers)
    victim = world.random.choice(world.with_queues() or world.clients)
    victim.work_at(0)
    return lambda: victim.work_at(world.manner.speed)


def pull_tool(world: World) -> Heal:
    """A ``DefaultMQPullConsumer`` under the group's name: it is listed, so it gets a share, and pulls none of it."""
    tool = _join_tool(world)
    return lambda: _leave_tool(world, tool)


def lite_assign(world: World) -> Heal:
    """A ``DefaultLitePullConsumer`` that was assigned queues by hand: it is listed and subscribes to nothing.

    Its heartbeats take the group's topics out of the brokers' tables (``ConsumerGroupInfo.updateSubscription``), until
    the next one of another client: pulls are refused meanwhile.
    """
    tool = _join_tool(world)
    tool.topics, tool.versions = {}, {}
    world.fleet.subscribers_changed()
    return lambda: _leave_tool(world, tool)


def _join_tool(world: World) -> Consumer:
    tool = world.fleet.join(TOOL, replace(world.manner, sdk=PULL))
    tool.rebalance.is_stuck = True  # it has none
    return tool


def _leave_tool(world: World, tool: Consumer) -> None:
    if tool.is_running:
        world.fleet.leave(tool)


CHANGE_TOPIC = (config_misses_queue, old_route, queues_taken_away, no_read_permission, fewer_to_read)
