"""How long a fault must last to be told, as docs/findings.md says, whenever it begins between two reports."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bench.proof.detector import Detector
from schemas.facts import AlertFact, AlertState
from schemas.identity import MessageQueue
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation.client_config import MUTE
from streaming.simulation.consumer import Consumer
from streaming.simulation.simulated_group import TOPIC, Shape, SimulatedGroup

pytestmark = pytest.mark.slow("minutes and hours of a fleet are simulated")
PHASES = (0.0, 5.0, 10.0, 15.0)
SHAPE = Shape(clients=3, brokers=2, queues=2, strategy="AVG", orderly=False, version=5, rate=3)
QUEUE = MessageQueue(TOPIC, "broker-0", 0)


def nothing(group: SimulatedGroup) -> None:
    """Nothing has changed for minutes."""


def has_joined(group: SimulatedGroup) -> None:
    group.start("9.9.9.9@z")
    group.fleet.run(1.5)


def one_is_mute(group: SimulatedGroup) -> None:
    silence(group, [client for client in group.clients if QUEUE not in client.owned()][-1])


def the_second_owner_is_mute(group: SimulatedGroup) -> None:
    silence(group, next(client for client in group.clients if QUEUE not in client.owned()))


def silence(group: SimulatedGroup, client: Consumer) -> None:
    client.config = replace(client.config, sdk=MUTE)
    group.fleet.run(120)


def a_list_never_comes(group: SimulatedGroup) -> None:
    group.fleet.brokers["broker-1"].answers_lists = False
    group.fleet.run(60)


def no_traffic(group: SimulatedGroup) -> None:
    group.fleet.producer.write(TOPIC, 0)
    group.fleet.run(120)


def is_told(disturb: tuple[Callable[[SimulatedGroup], None], ...], owners: int, seconds: float, phase: float) -> bool:
    """Whether somebody is called about the queue, which has none or two owners for so long."""
    group = SimulatedGroup(SHAPE, "limits")
    detector = Detector(group.fleet, DEFAULT_SETTINGS)
    group.warm_up()
    group.fleet.run(60)
    for one in disturb:
        one(group)
    group.fleet.run(phase)
    began_ts = group.fleet.now
    owner = next(client for client in group.clients if QUEUE in client.owned())
    other = next(client for client in group.clients if client is not owner)
    for client in group.clients:
        client.rebalance.is_stuck = True
    if owners:
        take(other)
        group.fleet.run(seconds)
        drop(other)
    else:
        drop(owner)
        group.fleet.run(seconds)
        take(owner)
    group.fleet.run(200)
    return any(
        isinstance(fact.payload, AlertFact)
        and fact.payload.state == AlertState.FIRING.value
        and ts >= began_ts
        and any((q.broker_name, q.queue_id) == QUEUE[1:] for q in fact.payload.queues)
        for fact, ts in zip(detector.facts, detector.emitted_ts, strict=True)
    )


def take(client: Consumer) -> None:
    client.rebalance._take(QUEUE, client.rebalance._table.setdefault(QUEUE.topic, {}))


def drop(client: Consumer) -> None:
    client.rebalance._drop(client.rebalance._table[QUEUE.topic].pop(QUEUE))


@pytest.mark.deep_rows("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize(
    ("disturb", "owners", "never_s", "always_s"),
    [
        ((nothing,), 2, 5, 35),
        ((nothing,), 0, 5, 35),
        ((no_traffic,), 0, 5, 35),
        ((has_joined,), 2, 15, 40),
        ((one_is_mute,), 2, 5, 35),
        ((one_is_mute,), 0, 60, 90),
        ((a_list_never_comes,), 0, 60, 90),
        ((one_is_mute, no_traffic), 0, 600, None),
        ((a_list_never_comes, no_traffic), 0, 600, None),
        ((the_second_owner_is_mute,), 2, 600, None),
    ],
    ids=lambda value: "-".join(f.__name__ for f in value) if isinstance(value, tuple) else None,
)
def test_what_lasts_so_long_is_told(
    disturb: tuple[Callable[[SimulatedGroup], None], ...], owners: int, never_s: float, always_s: float | None
) -> None:
    assert not any(is_told(disturb, owners, never_s, phase) for phase in PHASES)
    assert always_s is None or all(is_told(disturb, owners, always_s, phase) for phase in PHASES)
