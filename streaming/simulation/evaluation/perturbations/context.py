"""A group that is about to be played, for perturbations to change before its first client starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from random import Random

from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.evaluation.results import KnownFinding
from streaming.simulation.simulated_group import SimulatedGroup


@dataclass
class PerturbationContext:
    """``random`` is a perturbation's own, so that one more or less changes nothing in the others."""

    group: SimulatedGroup
    detector: Detector
    random: Random
    is_healthy: bool
    known_findings: list[KnownFinding] = field(default_factory=list)

    def delay_ms(self, seconds: tuple[float, float]) -> int:
        """Milliseconds until the next time."""
        return round(self.random.uniform(*seconds) * 1_000)

    def log_uniform(self, least: float, most: float) -> float:
        """Small ones are as likely as large ones, by order of magnitude."""
        return exp(self.random.uniform(log(least), log(most)))
