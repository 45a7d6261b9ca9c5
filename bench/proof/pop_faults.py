"""What goes wrong with groups of gRPC clients: how each fault begins and ends, and by when which page is due.

The times are those that docs/findings.md promises, from the moment when the fault is there: two readings of the offsets
and a round come to what it names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.proof.groups import old_offsets
from bench.proof.grpc_consumer import GrpcConsumer
from bench.proof.pop_group import AWAY_S, KINDS_OF_CLIENTS, TOPIC, PopGroup, PopShape
from schemas.facts import Cause, Kind
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.faults import Fault

Undo = Callable[[], object]
READINGS_S = 45  # two readings of the offsets, 20 s apart, and a round
TEN_MINUTES_S = 600 + READINGS_S
BUSY_S = 300 + READINGS_S  # clients may be busy with what they have taken
CLOSED_S = 80 + READINGS_S  # nobody can be busy there; clients are seen elsewhere meanwhile
BLOCKED_S = 450 + 60 + READINGS_S  # 300 s, half as long again after a change, and a new owner of a FIFO queue
COUNTED_S = 60 + 300 + 2 * READINGS_S  # what a client had that left shortly before is not counted
COME_BACK, COME_BACK_MS = 0.65, 10_000  # that share of messages, after so long; clients can take three times as many
HUNG_MS = 1 << 40  # what a listener takes that hangs


@dataclass(frozen=True)
class PopFault(Fault):
    """A fault of a group of gRPC clients. ``kinds``: pages that tell it, the one that is promised first.

    ``causes``: those that are right for it. ``due_s``: by when one is due. ``may_be_a_deploy``: after a change of
    members it is waited for as if it were one.
    """

    kinds: tuple[Kind, ...] = ()
    due_s: Callable[[PopShape], int] = lambda _: TEN_MINUTES_S
    may_be_a_deploy: bool = False


def _by_polls(promised_s: int, *kinds: str) -> Callable[[PopShape], int]:
    """Where polls prove it, as soon as that; else after ten minutes.

    Brokers are not asked for polls of Rust clients: such an id may be that of another client.
    """
    return lambda shape: promised_s if shape.kind in kinds and shape.sdk != "Rust" else TEN_MINUTES_S


def _unpolled(group: PopGroup, name: str, put: Callable[[bool], object]) -> Undo:
    """Nobody polls the broker any more after ``put(True)``; after ``put(False)`` clients do."""
    put(True)
    group.fleet.stop_polls_at(name)

    def undo() -> None:
        put(False)
        group.fleet.begin_polls_at(name)

    return undo


def broker_not_reached(group: PopGroup) -> Undo:
    """Proxies cannot reach a broker, or clients never ask for it (rocketmq-clients #655): its messages wait."""
    name, cut = group.random.choice(group.brokers), list(group.clients)

    def put(is_cut: bool) -> None:
        for client in cut:
            (client.cannot_reach.add if is_cut else client.cannot_reach.discard)(name)

    return _unpolled(group, name, put)


def refused_by_a_broker(group: PopGroup) -> Undo:
    """The group may not consume on one broker (``consumeEnable``), by mistake: on the others it may."""
    broker = group.fleet.brokers[group.random.choice(group.brokers)]
    return _unpolled(group, broker.name, lambda is_refused: setattr(broker, "consume_enable", not is_refused))


def unknown_to_a_broker(group: PopGroup) -> Undo:
    """A broker has no subscription group of that name, and does not make any (``autoCreateSubscriptionGroup``)."""
    broker = group.fleet.brokers[group.random.choice(group.brokers)]

    def put(is_unknown: bool) -> None:
        broker.knows_group = broker.makes_groups = not is_unknown

    return _unpolled(group, broker.name, put)


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
        group.fleet.leave(client)
        group.start()


def members_split(group: PopGroup) -> Undo:
    """A remoting client joins at the brokers: both sides consume everything."""
    fleet = group.fleet
    client = fleet.join(f"10.9.9.9@{group.random.randrange(1, 65_536)}", ClientConfig(((TOPIC, "*"),)))
    return partial(fleet.leave, client)


def all_left(group: PopGroup) -> Undo:
    """All clients are stopped, and messages wait."""
    return _ended(group, group.fleet.leave)


def all_killed(group: PopGroup) -> Undo:
    return _ended(group, group.fleet.kill)


def _ended(group: PopGroup, end: Callable[[GrpcConsumer], None]) -> Undo:
    number = len(group.clients)
    for client in list(group.clients):
        end(client)

    def undo() -> None:
        for _ in range(number):
            group.start()

    return undo


def head_blocked(group: PopGroup) -> Undo:
    """The first message of one FIFO queue is never acknowledged (apache/rocketmq #10827): others wait behind it."""
    popping = group.fleet.poppings[group.random.choice(group.brokers)]
    queue = group.random.choice([one for one in popping.queues if one.log.queue.topic == TOPIC])
    group.fleet.block(queue)
    return partial(group.fleet.unblock, queue)


def listeners_hang(group: PopGroup) -> Undo:
    """The listeners of a FIFO group hang: the heads of all queues are blocked."""
    undo = partial(group.set_work_ms, group.work_ms)
    group.set_work_ms(HUNG_MS)
    return undo


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
Blocked = partial(PopFault, kinds=(Kind.HEAD_BLOCKED, Kind.STALLED), due_s=_blocked_s, needs=FIFO)
AtABroker = partial(PopFault, kinds=UNPOLLED, least_brokers=2)
Refused = partial(AtABroker, causes=(Cause.BROKER_REFUSES_GROUP,))
NoMembers = partial(PopFault, kinds=(Kind.NO_MEMBERS,))
POP_FAULTS: tuple[PopFault, ...] = (
    AtABroker(broker_not_reached, (Cause.BROKER_NOT_REACHED, *UNEXPLAINED), due_s=_by_polls(BUSY_S, "push")),
    Refused(refused_by_a_broker, due_s=_by_polls(CLOSED_S, *KINDS_OF_CLIENTS)),
    Refused(unknown_to_a_broker, due_s=_by_polls(CLOSED_S, "push", "fifo")),
    PopFault(nobody_polls, UNEXPLAINED, kinds=STALLED),
    PopFault(
        silent_since_a_restart,
        (Cause.PROXY_AWAY,),
        {"sdk": "Java"},
        kinds=UNPOLLED,
        due_s=lambda shape: TEN_MINUTES_S if shape.kind == "simple" else AWAY_S[1] + 25 + BUSY_S,
    ),
    PopFault(
        never_back,
        needs={"sdk": "C#", "is_balanced": False},
        kinds=(Kind.NO_MEMBERS, *UNPOLLED),
        due_s=lambda _: AWAY_S[1] + 330 + 120 + READINGS_S,
    ),
    PopFault(members_split, kinds=(Kind.MEMBERS_SPLIT,), due_s=lambda _: 150 + READINGS_S, may_be_a_deploy=True),
    NoMembers(all_left, due_s=lambda _: 120 + READINGS_S),
    NoMembers(all_killed, due_s=lambda _: 130 + 120 + READINGS_S),
    PopFault(
        old_offsets,
        needs={**FIFO, "rate": 5},
        least_brokers=2,
        kinds=(Kind.OFFSETS_WENT_BACK,),
        due_s=lambda _: AWAY_S[1] + 130,
    ),
    Blocked(head_blocked),
    Blocked(listeners_hang),
    PopFault(
        not_acknowledged,
        needs={"kind": "push", "rate": 5, "sdk": "Go"},
        kinds=(Kind.CONSUMED_AGAIN,),
        due_s=lambda _: COUNTED_S,
    ),
)
POP_FAULT_NAMED = {fault.name: fault for fault in POP_FAULTS}
