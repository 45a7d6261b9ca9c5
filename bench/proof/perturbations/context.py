"""The group of a run, which perturbations may change before its first client starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from random import Random

from bench.proof.detector import Detector
from bench.proof.results import KnownFinding
from streaming.simulation.simulated_group import SimulatedGroup
from streaming.simulation.virtual_clock import VirtualClock


@dataclass
class WatchContext:
    """What watches a group, to be disturbed: collectors, and the way of their events to the detector.

    ``random`` belongs to one perturbation, so that another one does not change its numbers.
    """

    clock: VirtualClock
    detector: Detector
    random: Random

    def delay_ms(self, seconds: tuple[float, float]) -> int:
        """Milliseconds until the next time."""
        return round(self.random.uniform(*seconds) * 1_000)

    def log_uniform(self, least: float, most: float) -> float:
        """A random number; each order of magnitude is equally likely."""
        return exp(self.random.uniform(log(least), log(most)))


@dataclass
class PerturbationContext(WatchContext):
    """A group to change."""

    group: SimulatedGroup
    is_healthy: bool
    known_findings: list[KnownFinding] = field(default_factory=list)
