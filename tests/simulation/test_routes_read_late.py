"""Clients that read a changed route before the collector does: what they report is no fault of theirs."""

from dataclasses import replace

import pytest

from bench.proof.detector import Detector
from schemas.facts import AlertFact
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation.simulated_group import Shape, SimulatedGroup
from tests.simulation.alerts_fired import alerts_fired

# A live collector reads a route in every third round: 10 s after the last answer are over just after the second began.
ROUTE_S = 15
POLICY = replace(DEFAULT_POLICY, route_ms=ROUTE_S * 1_000)
UNTIL_S = 60  # an alert fires within two rounds, a client that lags reads the route within 30 s


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize(
    ("queues", "to", "clients", "at_once", "for_a_moment"),
    [
        (4, 2, 1, 1, "ORPHANED"),
        (4, 2, 2, 2, "ORPHANED"),
        (4, 2, 2, 1, "ORPHANED"),
        (2, 4, 2, 1, "DUPLICATED"),
        (4, 8, 2, 1, "DUPLICATED"),
    ],
    ids=[
        "shrunk",
        "shrunk, two clients",
        "shrunk, one client of two",
        "grown, one of two",
        "grown further, one of two",
    ],
)
def test_a_client_that_reads_the_new_route_first_pages_nobody(
    queues: int, to: int, clients: int, at_once: int, for_a_moment: str
) -> None:
    """In whichever second after the collector read the route. Messages left in queues of the old route are a page."""
    found: set[str] = set()
    fired = set()
    for second in range(ROUTE_S):
        group = SimulatedGroup(Shape(clients, 1, queues, "AVG", False, 5, 1), f"b/{clients}")
        detector = Detector(group.fleet, DEFAULT_SETTINGS, policy=POLICY)
        group.warm_up()
        group.fleet.run(second)
        group.put_topic(to)
        for client in group.clients[:at_once]:
            client.poll_routes()
            client.rebalance.wakeup()
        group.fleet.run(UNTIL_S)
        found |= {fact.payload.kind for fact in detector.facts if isinstance(fact.payload, AlertFact)}
        fired |= {(second, alert.kind) for _, alert in alerts_fired(detector) if alert.cause != "LEFT_ROUTE"}
    assert for_a_moment in found
    assert fired == set()
