"""What may befall events between the collector and the detector, and the collector's clock."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import Stage

LOST = (0.001, 0.01)
LOST_EVERY_MS = 20_000
LATE = (0.002, 0.02)
BACK_AFTER_S = (160, 600)
BACK_S = (2, 3_600)


def some_lost(stage: Stage) -> None:
    """1 in 1,000 to 1 in 100."""
    stage.detector.wire.lost = stage.magnitude(*LOST)


def one_lost_every_20s(stage: Stage) -> None:
    def lose() -> None:
        stage.detector.wire.loses_next = True
        stage.world.fleet.agenda.after(LOST_EVERY_MS, lose)

    stage.world.fleet.agenda.after(stage.random.randrange(LOST_EVERY_MS), lose)


def reordered(stage: Stage) -> None:
    """1 in 500 to 1 in 50 comes up to 3 s late, after others that were told later."""
    stage.detector.wire.late = stage.magnitude(*LATE)


def clock_set_back(stage: Stage) -> None:
    """Once, by 2 s to an hour, for good."""

    def set_back() -> None:
        stage.detector.wire.clock_is_back_ms = round(stage.magnitude(*BACK_S) * 1_000)

    stage.world.fleet.agenda.after(stage.now_and_then(BACK_AFTER_S), set_back)
