"""A broker that is down for two minutes beside a fault: one page, which is sent again only for what is new."""

from dataclasses import replace
from random import Random

import pytest

from bench.proof.detector import Detector
from bench.proof.incidents import shape_for
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation.faults import FAULTS
from streaming.simulation.simulated_group import SimulatedGroup
from tests.notifier.facts import NOW, S
from tests.notifier.receiver import PAGES, Receiver

POLL_S = 5


def facts_of_outages(fault_name: str, seed: str, outages: int, for_s: int) -> Detector:
    """A fault; then one broker of the topic goes away and comes back, once or more often."""
    random = Random(seed)
    fault = next(one for one in FAULTS if one.name == fault_name)
    group = SimulatedGroup(replace(shape_for(fault, random), brokers=2), seed, "G")
    detector = Detector(group.fleet, DEFAULT_SETTINGS, lambda _: None, 0.0)
    group.warm_up()
    fault.inject(group)
    group.fleet.run(150)
    for _ in range(outages):
        group.fleet.stop_broker(group.brokers[0])
        group.fleet.run(for_s)
        group.fleet.start_broker(group.brokers[0])
        group.fleet.run(240)
    return detector


CASES = [
    ("old_route", "s2", 2, 120),
    ("old_route", "s9", 2, 120),
    ("not_taken_over", "s8", 2, 120),
    ("queues_taken_away", "s11", 1, 90),
]


@pytest.mark.deep_rows("hours of pages, for each kind of outage")
@pytest.mark.slow("time-outs pass")
@pytest.mark.parametrize(("fault", "seed", "outages", "for_s"), CASES)
def test_an_outage_sends_a_page_again_once_at_most(fault: str, seed: str, outages: int, for_s: int) -> None:
    left = sorted(facts_of_outages(fault, seed, outages, for_s).facts, key=lambda fact: (fact.ts, fact.seq))
    sink = Receiver(PAGES)
    for ts in range(left[0].ts, left[-1].ts + 60 * S, POLL_S * S):
        here = [fact for fact in left if fact.ts <= ts]
        sink.poll((ts - NOW) / S, here)
        left = left[len(here) :]
    keys = [notice.key for notice in sink.told if notice.status == "firing"]
    assert keys
    assert max(keys.count(key) for key in keys) <= 2
