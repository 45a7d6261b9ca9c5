"""Brokers that lose committed offsets, and what only looks like it."""

import pytest

from bench.proof.detector import Detector
from bench.proof.groups import RemotingGroup
from bench.proof.incidents import play_incident
from bench.proof.more_faults import ANY_FAULT_NAMED
from bench.proof.operations import broker_crash, reset_offsets
from bench.proof.results import Run
from schemas.facts import AlertFact, Kind
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.intake import setbacks
from streaming.simulation.simulated_group import Shape

SMALL = Shape(3, 2, 3, "AVG", False, 5, 20)


def played(seed: str) -> Run:
    return play_incident(seed, ANY_FAULT_NAMED["old_offsets"], DEFAULT_SETTINGS)


def severities(detector: Detector) -> set[str]:
    """Of what fired because offsets went back."""
    alerts = (fact.payload for fact in detector.facts if isinstance(fact.payload, AlertFact))
    return {alert.severity for alert in alerts if alert.fired_ts and alert.kind == Kind.OFFSETS_WENT_BACK}


@pytest.mark.parametrize("seed", ["s2", "s5"])
def test_what_a_broker_has_lost_is_found(seed: str) -> None:
    run = played(seed)
    (expected,) = run.expected
    assert expected.found is not None
    assert [(page.kind, page.severity, page.is_true) for page in run.pages] == [
        (Kind.OFFSETS_WENT_BACK, "warning", True)
    ]


def test_without_the_rule_that_finds_it_it_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setbacks, "STAYS_LOW_MS", 3_600_000)
    run = played("s5")
    assert [expected.found for expected in run.expected] == [None]
    assert run.pages == []


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_seconds_that_a_crashed_broker_has_lost_are_none(seed: str) -> None:
    group = RemotingGroup(SMALL, f"crash/{seed}")
    detector = Detector(group.fleet, DEFAULT_SETTINGS)
    group.warm_up()
    broker_crash(group)
    group.fleet.run(240)
    assert any(progress.put_back for progress in group.fleet.progresses())
    assert severities(detector) == set()


@pytest.mark.parametrize("speed", [5, 2_000])
def test_an_operators_reset_calls_nobody(speed: int) -> None:
    """It is shown if it takes long to consume the messages again."""
    group = RemotingGroup(SMALL, "reset")
    detector = Detector(group.fleet, DEFAULT_SETTINGS)
    group.warm_up()
    for client in group.clients:
        client.set_speed(speed)
    reset_offsets(group)
    group.fleet.run(240)
    assert severities(detector) == ({"info"} if speed == 5 else set())
