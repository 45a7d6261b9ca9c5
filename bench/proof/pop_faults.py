"""What goes wrong with groups of gRPC clients: how each fault begins and ends, and by when which page is due.

The times are those that docs/findings.md promises, from the moment when the fault is there: two readings of the offsets
and a round come to what it names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from schemas.facts import Cause, Kind
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.grpc_consumer import GrpcConsumer
from streaming.simulation.pop_group import KINDS_OF_CLIENTS, TOPIC, PopGroup, PopShape

Undo = Callable[[], object]
READINGS_S = 45  # two readings of the offsets, 20 s apart, and a round
TEN_MINUTES_S = 600 + READINGS_S
BUSY_S = 300 + READINGS_S  # clients may be busy with what they have taken
CLOSED_S = 80 + READINGS_S  # nobody can be busy there; clients are seen elsewhere meanwhile
BLOCKED_S = 450 + 60 + READINGS_S  # 300 s, half as long again after a change, and a new owner of a FIFO queue
COUNTED_S = 60 + 300 + 2 * READINGS_S  # what a client had that left shortly before is not counted
COME_BACK, COME_BACK_MS = 0.65, 10_000  # that share of messages, after so long; clients can take three times as many
AWAY_S = (30, 60)  # for how long a proxy or a broker is away
HUNG_MS = 1 << 40  # what a listener takes that hangs
OLD_OFFSETS_S = 140


@dataclass(frozen=True)
class PopFault:
    """A fault. ``kinds``: pages that tell it, the one that is promised first. ``due_s``: by when one is due.

    ``needs``: fields of the shape. ``causes``: those that are right for the first kind. ``may_be_a_deploy``: after a
    change of members it is waited for as if it were one.
    """

    inject: Callable[[PopGroup], Undo]
    kinds: tuple[Kind, ...]
    due_s: Callable[[PopShape], int]
    needs: dict[str, Any] = field(default_factory=dict)
    least_brokers: int = 1
    causes: tuple[Cause, ...] = ()
    may_be_a_deploy: bool = False

    @property
    def name(self) -> str:
        return self.inject.__name__


def _by_polls(promised_s: int, *kinds: str) -> Callable[[PopShape], int]:
    """Where polls prove it, as soon as that; else after ten minutes.

    Brokers are not asked for polls of Rust clients: such an id may be that of another client.
    """
    return lambda shape: promised_s if shape.kind in kinds and shape.sdk != "Rust" else TEN_MINUTES_S


def _end_polls(group: PopGroup, name: str) -> None:
    group.fleet.stop_polls_at(name)


def broker_not_reached(group: PopGroup) -> Undo:
    """Proxies cannot reach a broker, or clients never ask for it (rocketmq-clients #655): its messages wait."""
    name, cut = group.random.choice(group.brokers), list(group.clients)
    for client in cut:
        client.cannot_reach.add(name)
    _end_polls(group, name)

    def undo() -> None:
        for client in cut:
            client.cannot_reach.discard(name)
        group.fleet.begin_polls_at(name)

    return undo


def refused_by_a_broker(group: PopGroup) -> Undo:
    """The group may not consume on one broker (``consumeEnable``), by mistake: on the others it may."""
    broker = group.fleet.brokers[group.random.choice(group.brokers)]
    broker.consume_enable = False
    _end_polls(group, broker.name)

    def undo() -> None:
        broker.consume_enable = True
        group.fleet.begin_polls_at(broker.name)

    return undo


def unknown_to_a_broker(group: PopGroup) -> Undo:
    """A broker has no subscription group of that name, and does not make any (``autoCreateSubscriptionGroup``)."""
    broker = group.fleet.brokers[group.random.choice(group.brokers)]
    broker.knows_group = broker.makes_groups = False
    _end_polls(group, broker.name)

    def undo() -> None:
        broker.knows_group = broker.makes_groups = True
        group.fleet.begin_polls_at(broker.name)

    return undo


def nobody_polls(group: PopGroup) -> Undo:
    """Clients are listed and get nothing, as with ``timerWheelEnable=false``, or without permission."""
    return _muted(group, list(group.clients))


def _muted(group: PopGroup, clients: list[GrpcConsumer]) -> Undo:
    for client in clients:
        group.fleet.mute(client)

    def undo() -> None:
        for client in clients:
            if client.is_running:
                group.fleet.unmute(client)

    return undo


def silent_since_a_restart(group: PopGroup) -> Undo:
    """Both proxies restart, or are replaced. Clients are listed again, and ask for no message (rocketmq #9170)."""
    undo = _muted(group, list(group.clients))
    if group.shape.is_balanced and group.random.random() < 0.5:
        group.replace_proxy(0)
        group.replace_proxy(1)
    else:
        _restart_proxies(group)
    return undo


def _restart_proxies(group: PopGroup) -> None:
    away_ms = group.random.randrange(*AWAY_S) * 1_000
    for proxy in group.proxies:
        group.fleet.stop_proxy(proxy, is_clean=group.random.random() < 0.5)
        group.fleet.clock.after(away_ms, group.fleet.start_proxy, proxy)


def never_back(group: PopGroup) -> Undo:
    """Both proxies restart, and clients never send their settings again: so does the SDK of C#."""
    _restart_proxies(group)
    return partial(_replace_all, group)


def _replace_all(group: PopGroup) -> None:
    for client in list(group.clients):
        group.fleet.leave_consumer(client)
        group.start()


def members_split(group: PopGroup) -> Undo:
    """A remoting client joins at the brokers: both sides consume everything."""
    fleet = group.fleet
    client = fleet.join(f"10.9.9.9@{group.random.randrange(1, 65_536)}", ClientConfig(((TOPIC, "*"),)))
    return partial(fleet.leave, client)


def all_left(group: PopGroup) -> Undo:
    """All clients are stopped, and messages wait."""
    return _ended(group, group.fleet.leave_consumer)


def all_killed(group: PopGroup) -> Undo:
    return _ended(group, group.fleet.kill_consumer)


def _ended(group: PopGroup, end: Callable[[GrpcConsumer], None]) -> Undo:
    number = len(group.clients)
    for client in list(group.clients):
        end(client)

    def undo() -> None:
        for _ in range(number):
            group.start()

    return undo


def old_offsets(group: PopGroup) -> Undo:
    """A broker is away, and has older offsets when it is back. Clients work more slowly than messages come."""
    fleet, usual_ms, name = group.fleet, group.work_ms, group.random.choice(group.brokers)
    group.set_work_ms(8_000 // group.most_rate)
    fleet.stop_broker(name)

    def back() -> None:
        for progress in fleet.brokers[name].progresses(fleet.group):
            progress.put_offset_back(progress.committed - group.shape.rate * OLD_OFFSETS_S, fleet.now)
        fleet.start_broker(name)

    fleet.clock.after(group.random.randrange(*AWAY_S) * 1_000, back)
    return partial(group.set_work_ms, usual_ms)


def head_blocked(group: PopGroup) -> Undo:
    """The first message of one FIFO queue is never acknowledged (apache/rocketmq #10827): others wait behind it."""
    popping = group.fleet.poppings[group.random.choice(group.brokers)]
    queue = group.random.choice([one for one in popping.queues if one.log.queue.topic == TOPIC])
    group.fleet.block(queue)
    return partial(group.fleet.unblock, queue)


def listeners_hang(group: PopGroup) -> Undo:
    """The listeners of a FIFO group hang: the heads of all queues are blocked."""
    usual_ms = group.work_ms
    group.set_work_ms(HUNG_MS)
    return partial(group.set_work_ms, usual_ms)


def not_acknowledged(group: PopGroup) -> Undo:
    """Listeners take longer than messages are invisible to others, so that most of them come back."""
    fleet = group.fleet
    taken: dict[str, int] = {}
    is_active = [True]

    def come_back() -> None:
        for name, popping in fleet.poppings.items() if is_active else ():
            popping.catch_up(fleet.now)
            total = sum(max(0, queue.committed) for queue in popping.queues)
            popping.revive(int(COME_BACK * (total - taken.get(name, total))))
            taken[name] = total
        if is_active:
            fleet.clock.after(COME_BACK_MS, come_back)

    come_back()
    return is_active.clear


def _blocked_s(shape: PopShape) -> int:
    """While few messages come, none may wait behind the first."""
    return _by_polls(BLOCKED_S, "fifo")(shape) if shape.rate else TEN_MINUTES_S


FIFO, UNEXPLAINED = {"kind": "fifo"}, (Cause.UNEXPLAINED,)
UNPOLLED, STALLED = (Kind.UNPOLLED, Kind.STALLED), (Kind.STALLED, Kind.UNPOLLED)
AtLast = partial(PopFault, kinds=STALLED, due_s=lambda _: TEN_MINUTES_S, causes=UNEXPLAINED)
Blocked = partial(PopFault, kinds=(Kind.HEAD_BLOCKED, Kind.STALLED), due_s=_blocked_s, needs=FIFO)
AtABroker = partial(PopFault, kinds=UNPOLLED, least_brokers=2)
Refused = partial(AtABroker, causes=(Cause.BROKER_REFUSES_GROUP,))
POP_FAULTS: tuple[PopFault, ...] = (
    AtABroker(broker_not_reached, due_s=_by_polls(BUSY_S, "push"), causes=(Cause.BROKER_NOT_REACHED, *UNEXPLAINED)),
    Refused(refused_by_a_broker, due_s=_by_polls(CLOSED_S, *KINDS_OF_CLIENTS)),
    Refused(unknown_to_a_broker, due_s=_by_polls(CLOSED_S, "push", "fifo")),
    AtLast(nobody_polls),
    PopFault(
        silent_since_a_restart,
        UNPOLLED,
        lambda shape: TEN_MINUTES_S if shape.kind == "simple" else AWAY_S[1] + 25 + BUSY_S,
        {"sdk": "Java"},
        causes=(Cause.PROXY_AWAY,),
    ),
    PopFault(
        never_back,
        (Kind.NO_MEMBERS, *UNPOLLED),
        lambda _: AWAY_S[1] + 330 + 120 + READINGS_S,
        {"sdk": "C#", "is_balanced": False},
    ),
    PopFault(members_split, (Kind.MEMBERS_SPLIT,), lambda _: 150 + READINGS_S, may_be_a_deploy=True),
    PopFault(all_left, (Kind.NO_MEMBERS,), lambda _: 120 + READINGS_S),
    PopFault(all_killed, (Kind.NO_MEMBERS,), lambda _: 130 + 120 + READINGS_S),
    PopFault(old_offsets, (Kind.OFFSETS_WENT_BACK,), lambda _: AWAY_S[1] + 130, {**FIFO, "rate": 5}, least_brokers=2),
    Blocked(head_blocked),
    Blocked(listeners_hang),
    PopFault(not_acknowledged, (Kind.CONSUMED_AGAIN,), lambda _: COUNTED_S, {"kind": "push", "rate": 5, "sdk": "Go"}),
)
POP_FAULT_NAMED = {fault.name: fault for fault in POP_FAULTS}
