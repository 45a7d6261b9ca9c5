"""The alerts of a run that began to fire."""

from bench.proof.detector import Detector
from schemas.facts import AlertFact, AlertState, Fact


def alerts_fired(detector: Detector) -> list[tuple[Fact, AlertFact]]:
    """Every time that an alert began to fire."""
    return [
        (fact, fact.payload)
        for fact in detector.facts
        if isinstance(fact.payload, AlertFact)
        and fact.payload.state == AlertState.FIRING.value
        and fact.payload.fired_ts == fact.ts
    ]
