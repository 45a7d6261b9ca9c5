"""An id listed twice by one broker, which reaches one instance only: two are proven by heartbeats, and only two."""

from collections.abc import Callable

import pytest

from bench.proof.detector import Detector
from schemas.facts import AlertFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation import fault_injection as inject
from streaming.simulation.client_config import GO
from streaming.simulation.simulated_group import Shape, SimulatedGroup
from tests.simulation.alerts_fired import alerts_fired

ONE_BROKER = Shape(clients=3, brokers=1, queues=6, strategy="AVG", orderly=False, version=5, rate=4)
SEEDS = range(6)
UNTIL_DROPPED_S = 155


def played(seed: object, fault: Callable[[SimulatedGroup], inject.Undo], seconds: float) -> tuple[Detector, int]:
    """And when the fault began."""
    group = SimulatedGroup(ONE_BROKER, f"twice/{seed}")
    detector = Detector(group.fleet, DEFAULT_SETTINGS)
    group.warm_up()
    group.fleet.run(10)
    began_ts = group.fleet.now
    fault(group)
    group.fleet.run(seconds)
    return detector, began_ts


@pytest.mark.parametrize("seed", SEEDS)
def test_two_instances_are_told_within_a_minute(seed: int) -> None:
    detector, began_ts = played(seed, inject.same_client_id, 60)
    assert {(alert.kind, alert.cause) for _, alert in alerts_fired(detector)} == {
        ("DUPLICATED", "SAME_CLIENT_ID"),
        ("ORPHANED", "SAME_CLIENT_ID"),
    }
    assert all(fact.ts - began_ts <= 60_000 for fact, _ in alerts_fired(detector))


@pytest.mark.deep_rows("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_network_blip_is_never_taken_for_two_instances(seed: int) -> None:
    detector, _ = played(seed, inject.half_open, UNTIL_DROPPED_S + 120)
    alerts = [fact.payload for fact in detector.facts if isinstance(fact.payload, AlertFact)]
    assert {alert.cause for alert in alerts} <= {"STALE_CONNECTION"}
    assert alerts_fired(detector) == []


def test_a_restart_beside_a_dead_connection_is_not_taken_for_two_instances() -> None:
    """The machine is lost without a word, and the client is started again under its id elsewhere."""

    def moved(group: SimulatedGroup) -> inject.Undo:
        victim = group.clients[0]
        group.fleet.kill(victim, is_noticed=False)
        group.start(victim.client_id, victim.config)
        return lambda: None

    detector, _ = played("moved", moved, UNTIL_DROPPED_S + 120)
    assert "SAME_CLIENT_ID" not in {alert.cause for _, alert in alerts_fired(detector)}


def test_clients_that_tell_no_heartbeats_are_proven_by_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streaming.simulation.transport.JAVA", GO.language)
    detector, began_ts = played(0, inject.same_client_id, 180)
    fired = [fact.ts - began_ts for fact, alert in alerts_fired(detector) if alert.cause == "SAME_CLIENT_ID"]
    assert fired
    assert min(fired) > UNTIL_DROPPED_S * 1_000
