"""More faults of groups of remoting clients: they are played with perturbations only, and with no other fault."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bench.proof.groups import RELEASED_AFTER_MS, old_offsets
from schemas.facts import Cause, Kind
from streaming.simulation.client_config import MUTE, PULL
from streaming.simulation.consumer import Consumer
from streaming.simulation.fault_injection import Undo, any_victim, end_clients, hang_listeners
from streaming.simulation.faults import FAULT_NAMED, PLAIN, UNREADABLE, Fault, OfUnreadable
from streaming.simulation.simulated_group import TOPIC, SimulatedGroup

SHRUNK_AFTER_MS = 25_000  # no queue is STALLED by then
LOW_RATES = range(1, 5)  # messages a second of each queue
TOOL = "0.0.0.0@tool"
BEHIND_A_PROXY = "orders-7d9f@1@0@2hs8xkq31c"
OF_OFFSETS = (Kind.STALLED, Kind.SLOW_CONSUMER)
OF_WAITING = (*OF_OFFSETS, Kind.ORPHANED)


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
    recover = hang_listeners(group, *group.clients)
    queues, clock = group.shape.queues, group.fleet.clock
    clock.after(SHRUNK_AFTER_MS, group.put_topic, queues - 1)
    clock.after(SHRUNK_AFTER_MS + 5_000, recover)
    return lambda: group.put_topic(queues)


def stuck_at_a_low_rate(group: SimulatedGroup) -> Undo:
    """A listener waits without end, and messages come so slowly that the client pulls on for minutes."""
    group.write(TOPIC, group.random.choice(LOW_RATES))
    return hang_listeners(group, any_victim(group))


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


def only_a_tool_stays(group: SimulatedGroup) -> Undo:
    """All consumers die. One client stays listed: it was assigned queues by hand, or is behind a proxy."""
    if group.random.random() < 0.5:
        undo = lite_assign(group)
    else:
        tool = group.fleet.join(BEHIND_A_PROXY, replace(group.config, sdk=MUTE))
        tool.rebalance.is_stuck = True
        undo = partial(end_clients, group, tool)
    ids = [client.client_id for client in group.clients if client.client_id not in (TOOL, BEHIND_A_PROXY)]
    for client in [client for client in group.clients if client.client_id in ids]:
        group.fleet.kill(client)

    def back() -> None:
        undo()
        for client_id in ids:
            group.start(client_id)

    return back


def pull_tool(group: SimulatedGroup) -> Undo:
    """A ``DefaultMQPullConsumer`` with the group's name. It is listed, so it gets a share, but pulls nothing of it."""
    tool = _join_tool(group)
    return lambda: end_clients(group, tool)


def lite_assign(group: SimulatedGroup) -> Undo:
    """A ``DefaultLitePullConsumer`` that was assigned queues by hand. It is listed, but subscribes to nothing.

    Its heartbeats remove the group's topics from the brokers' tables (``ConsumerGroupInfo.updateSubscription``).
    Pulls are refused until the next heartbeat of another client.
    """
    tool = _join_tool(group)
    tool.topics, tool.versions = {}, {}
    group.fleet.subscribers_changed()
    return lambda: end_clients(group, tool)


def _join_tool(group: SimulatedGroup) -> Consumer:
    tool = group.fleet.join(TOOL, replace(group.config, sdk=PULL))
    tool.rebalance.is_stuck = True  # such a client has no rebalance
    return tool


def broadcasting_client(group: SimulatedGroup) -> Undo:
    """A tool that needs all messages joins with the group's name and ``MessageModel.BROADCASTING``."""
    tool = group.start(config=replace(group.config, broadcasting=True))
    return lambda: end_clients(group, tool)


Alone = partial(Fault, excludes_others=True)
WithoutConsumption = partial(Alone, consumes_nothing=True)
MORE_FAULTS: tuple[Fault, ...] = (
    Alone(
        old_offsets,
        needs=PLAIN,
        least_brokers=2,
        group_findings=((Kind.OFFSETS_WENT_BACK, TOPIC),),
        extra_ms=RELEASED_AFTER_MS,
    ),
    Alone(stuck_at_a_low_rate, needs={"orderly": False}),
    Alone(
        shrunk_with_messages,
        (Cause.LEFT_ROUTE,),
        PLAIN,
        group_findings=UNREADABLE,
        extra_ms=SHRUNK_AFTER_MS + 60_000,  # until clients have released the queues
    ),
    Alone(no_read_permission_anywhere, (Cause.NO_READ_PERM,), PLAIN, group_findings=UNREADABLE),
    OfUnreadable(fewer_to_read_and_a_broker_lost, (Cause.READ_LT_WRITE,), excludes_others=True),
    Alone(pull_tool, needs=PLAIN, hides_clients=True),
    WithoutConsumption(restart_loop, (Cause.RESTART_LOOP,), tolerated=(Kind.REBALANCE_STORM, *OF_OFFSETS)),
    WithoutConsumption(only_a_tool_stays, needs=PLAIN, tolerated=(Kind.INCONSISTENT_SUBSCRIPTION, *OF_OFFSETS)),
    Alone(lite_assign, needs=PLAIN, hides_clients=True, tolerated=(Kind.INCONSISTENT_SUBSCRIPTION,)),
    # tolerated: queues of its share, in which the group's offset does not move
    Alone(broadcasting_client, (Cause.MESSAGE_MODEL_MISMATCH,), PLAIN, tolerated=OF_OFFSETS),
)
ANY_FAULT_NAMED = FAULT_NAMED | {fault.name: fault for fault in MORE_FAULTS}
