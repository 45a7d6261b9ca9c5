"""The functions that cause each fault as it happens in RocketMQ. Each returns a function that ends the fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.simulation.client_config import MUTE, PULL
from streaming.simulation.consumer import Consumer
from streaming.simulation.simulated_group import OTHER_TOPIC, ROOMS, TOPIC, SimulatedGroup

Undo = Callable[[], object]
SHRUNK_AFTER_MS = 25_000  # no queue is STALLED by then
RELEASED_AFTER_MS = 65_000  # clients ask for routes every 30 s, and rebalance every 20 s
OLD_OFFSETS_MS = 140_000  # a group has run for longer when a fault begins
LOW_RATES = range(1, 5)  # messages a second of each queue
TOOL = "0.0.0.0@tool"
BEHIND_A_PROXY = "orders-7d9f@1@0@2hs8xkq31c"


def _restarted(group: SimulatedGroup, *clients: Consumer) -> None:
    for client in clients:
        if client.is_running:
            group.fleet.leave(client)
            group.restart(client, 3_000, group.config_of(client))


def _gone(group: SimulatedGroup, *clients: Consumer) -> None:
    for client in clients:
        if client.is_running:
            group.fleet.leave(client)


def _victim(group: SimulatedGroup) -> Consumer:
    return group.random.choice(group.with_queues() or group.clients)


def _set_until_undone(flag: str, *owners: object) -> Undo:
    def put(value: bool) -> None:
        for owner in owners:
            setattr(owner, flag, value)

    put(True)
    return partial(put, False)


def _hang_listeners(group: SimulatedGroup, *clients: Consumer) -> Undo:
    def put(speed: int) -> None:
        for client in clients:
            client.set_speed(speed)

    put(0)
    return lambda: put(group.config.speed)


def same_client_id(group: SimulatedGroup) -> Undo:
    """Two containers have one client id: the instance name was set by hand, or the hosts' addresses are the same."""
    victim = _victim(group)
    duplicate = group.start(victim.client_id, victim.config)
    return lambda: _gone(group, duplicate)


def half_open(group: SimulatedGroup) -> Undo:
    """A short network failure. The client reconnects; brokers keep the dead connections."""
    _victim(group).lose_connections()
    return lambda: None


def stopped(group: SimulatedGroup) -> Undo:
    """A client does not run: SIGSTOP, a frozen machine, or a very long garbage collection."""
    victim = _victim(group)
    victim.pause()
    return victim.resume


def machine_lost(group: SimulatedGroup) -> Undo:
    """A machine is lost and its connections are not closed: brokers keep them until they expire."""
    victim = _victim(group)
    group.fleet.kill(victim, is_noticed=False)
    return lambda: group.start(victim.client_id, group.config_of(victim))


def pull_service_dead(group: SimulatedGroup) -> Undo:
    victim = _victim(group)
    victim.stop_pull_service()
    return lambda: _restarted(group, victim)


def stuck_code(group: SimulatedGroup) -> Undo:
    """A listener that waits without end for something else."""
    return _hang_listeners(group, _victim(group))


def different_topics(group: SimulatedGroup) -> Undo:
    """Another service uses the group's name for a topic of its own."""
    group.put_topic(group.shape.queues, OTHER_TOPIC)
    group.write(OTHER_TOPIC, group.shape.rate)
    others = [group.start(config=replace(group.config, topics=((OTHER_TOPIC, "*"),))) for _ in range(2)]
    group.mismatched_clients |= {other.client_id for other in others}
    return lambda: _gone(group, *others)


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
    undo = _set_until_undone("cannot_reach_name_server", _victim(group))
    group.put_topic(max(1, group.shape.queues // 2))
    return undo


def lock_stuck(group: SimulatedGroup) -> Undo:
    """An orderly listener of a 4.x client hangs. Another client joins; the first renews locks of dropped queues."""
    for client in group.with_queues():
        client.rebalance.keeps_old_locks = True
    undo = _hang_listeners(group, *group.with_queues()[:3])
    group.fleet.clock.after(20_000, group.start, "0.0.0.0@first")
    return undo


def not_taken_over(group: SimulatedGroup) -> Undo:
    """A client dies while the rebalance threads of the others hang in a listener."""
    victim = _victim(group)
    undo = _set_until_undone("is_stuck", *(client.rebalance for client in group.clients if client is not victim))
    group.fleet.kill(victim)
    return undo


def clings(group: SimulatedGroup) -> Undo:
    """One client's rebalance thread hangs while others join: it keeps queues that are now theirs."""
    undo = _set_until_undone("is_stuck", _victim(group).rebalance)
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


def no_read_permission_anywhere(group: SimulatedGroup) -> Undo:
    """``updateTopicPerm`` on every broker. No queue is left to allocate, so clients keep their queues."""
    queues = group.shape.queues
    group.fleet.put_topic(TOPIC, dict.fromkeys(group.brokers, (queues, queues, 2)))
    return lambda: group.put_topic(queues)


def fewer_to_read_and_a_broker_lost(group: SimulatedGroup) -> Undo:
    """``readQueueNums`` is reduced on all brokers, and one of them dies some time later."""
    queues, fleet, lost = group.shape.queues, group.fleet, group.random.choice(group.brokers)
    fleet.put_topic(TOPIC, dict.fromkeys(group.brokers, (queues - 1, queues, 6)))
    fleet.clock.after(group.random.randrange(90_000, 200_000), fleet.stop_broker, lost)

    def undo() -> None:
        if not fleet.brokers[lost].is_up:
            fleet.start_broker(lost)
        group.put_topic(queues)

    return undo


def shrunk_with_messages(group: SimulatedGroup) -> Undo:
    """Listeners hang for some time, and the topic loses queues with the messages of that time."""
    recover = _hang_listeners(group, *group.clients)
    queues, clock = group.shape.queues, group.fleet.clock
    clock.after(SHRUNK_AFTER_MS, group.put_topic, queues - 1)
    clock.after(SHRUNK_AFTER_MS + 5_000, recover)
    return lambda: group.put_topic(queues)


def all_gone(group: SimulatedGroup) -> Undo:
    ids = [client.client_id for client in group.clients]
    for client in list(group.clients):
        group.fleet.kill(client)
    return lambda: [group.start(client_id) for client_id in ids]


def old_offsets(group: SimulatedGroup) -> Undo:
    """A broker is away, and has older offsets when it is back, as a slave that lags. Clients have given its queues up.

    Clients that consume more slowly than messages come take some time to consume the same again.
    """
    fleet, name, fast = group.fleet, group.random.choice(group.brokers), group.config
    rate = group.shape.rate
    group.config = replace(fast, speed=max(1, rate // 2))
    for client in group.clients:
        client.set_speed(group.config.speed)
    fleet.stop_broker(name)

    def back() -> None:
        for progress in fleet.brokers[name].progresses(group.fleet.group):
            progress.put_offset_back(progress.committed - rate * OLD_OFFSETS_MS // 1_000, fleet.now)
        fleet.start_broker(name)

    def undo() -> None:
        group.config = fast
        for client in group.clients:
            client.set_speed(fast.speed)

    fleet.clock.after(RELEASED_AFTER_MS, back)
    return undo


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


def restart_loop(group: SimulatedGroup) -> Undo:
    """All clients crash some time after each start, before they have consumed anything, and are restarted.

    A container that is out of memory, or cannot reach its database, is restarted like this for hours.
    """
    random, clock, going = group.random, group.fleet.clock, [True]
    up_ms, down_ms = random.randrange(15_000, 115_000), random.randrange(5_000, 115_000)
    keeps_ids = random.random() < 0.5
    configs = [(client.client_id, replace(group.config_of(client), speed=0)) for client in group.clients]

    def down() -> None:
        if not going[0]:
            return
        for client in list(group.clients):
            group.fleet.kill(client)
        clock.after(down_ms, up)

    def up() -> None:
        if not going[0]:
            return
        for client_id, config in configs:
            group.start(client_id if keeps_ids else None, config)
        clock.after(up_ms, down)

    def undo() -> None:
        going[0] = False
        for client in list(group.clients):
            group.fleet.kill(client)
        for client_id, config in configs:
            group.start(client_id, replace(config, speed=group.config.speed))

    down()
    return undo


# Members that are listed, but do not consume like the others.


def only_a_tool_stays(group: SimulatedGroup) -> Undo:
    """All consumers die. One client stays listed: it was assigned queues by hand, or is behind a proxy."""
    if group.random.random() < 0.5:
        undo = lite_assign(group)
    else:
        tool = group.fleet.join(BEHIND_A_PROXY, replace(group.config, sdk=MUTE))
        tool.rebalance.is_stuck = True
        undo = partial(_gone, group, tool)
    ids = [client.client_id for client in group.clients if client.client_id not in (TOOL, BEHIND_A_PROXY)]
    for client in [client for client in group.clients if client.client_id in ids]:
        group.fleet.kill(client)

    def back() -> None:
        undo()
        for client_id in ids:
            group.start(client_id)

    return back


def stuck_at_a_low_rate(group: SimulatedGroup) -> Undo:
    """A listener waits without end, and messages come so slowly that the client pulls on for minutes."""
    group.write(TOPIC, group.random.choice(LOW_RATES))
    return _hang_listeners(group, _victim(group))


def pull_tool(group: SimulatedGroup) -> Undo:
    """A ``DefaultMQPullConsumer`` with the group's name. It is listed, so it gets a share, but pulls nothing of it."""
    tool = _join_tool(group)
    return lambda: _gone(group, tool)


def lite_assign(group: SimulatedGroup) -> Undo:
    """A ``DefaultLitePullConsumer`` that was assigned queues by hand. It is listed, but subscribes to nothing.

    Its heartbeats remove the group's topics from the brokers' tables (``ConsumerGroupInfo.updateSubscription``).
    Pulls are refused until the next heartbeat of another client.
    """
    tool = _join_tool(group)
    tool.topics, tool.versions = {}, {}
    group.fleet.subscribers_changed()
    return lambda: _gone(group, tool)


def _join_tool(group: SimulatedGroup) -> Consumer:
    tool = group.fleet.join(TOOL, replace(group.config, sdk=PULL))
    tool.rebalance.is_stuck = True  # such a client has no rebalance
    return tool


def broadcasting_client(group: SimulatedGroup) -> Undo:
    """A tool that needs all messages joins with the group's name and ``MessageModel.BROADCASTING``."""
    tool = group.start(config=replace(group.config, broadcasting=True))
    return lambda: _gone(group, tool)
