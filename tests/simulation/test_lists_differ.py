"""One client is cut from one of two brokers: what comes of it is one incident, which ends when it is mended."""

from collections import Counter

import pytest

from bench.proof.detector import Detector
from schemas.facts import AlertFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation.simulated_group import Shape, SimulatedGroup

CUT_S, MENDED_S = 900, 300


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("clients", [2, 3, 4])
def test_it_is_told_once_and_until_it_is_mended(clients: int) -> None:
    group = SimulatedGroup(Shape(clients, 2, 4, "AVG", False, 5, 4), f"cut/{clients}")
    fleet, (_, broker) = group.fleet, group.brokers
    detector = Detector(fleet, DEFAULT_SETTINGS)
    group.warm_up()
    fleet.disconnect(group.clients[0], broker)
    fleet.run(CUT_S)
    mended_ts = fleet.now
    fleet.reconnect(group.clients[0], broker)
    fleet.run(MENDED_S)
    told = [(f.ts, f.payload) for f in detector.facts if isinstance(f.payload, AlertFact)]
    told = [(ts, a) for ts, a in told if a.cause == "VIEW_DIVERGENCE" and a.fired_ts]
    fired = Counter(a.fingerprint for _, a in told if a.reason == "held_long_enough")
    assert fired
    assert set(fired.values()) == {1}
    ended = [ts for ts, a in told if a.state == "resolved"]
    assert len(ended) == len(fired)
    assert min(ended) > mended_ts
