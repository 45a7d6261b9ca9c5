"""Events that are lost or late between collector and detector, and a collector's clock that is set."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import PerturbationContext

LOST = (0.001, 0.01)
LOST_EVERY_MS = 20_000
LATE = (0.02, 0.2)
BACK_AFTER_S = (160, 600)
BACK_S = (2, 3_600)


def some_lost(context: PerturbationContext) -> None:
    """1 in 1,000 to 1 in 100."""
    context.detector.transport.lost = context.log_uniform(*LOST)


def one_lost_every_20s(context: PerturbationContext) -> None:
    def lose() -> None:
        context.detector.transport.loses_next = True
        context.group.fleet.clock.after(LOST_EVERY_MS, lose)

    context.group.fleet.clock.after(context.random.randrange(LOST_EVERY_MS), lose)


def reordered(context: PerturbationContext) -> None:
    """1 in 50 to 1 in 5 comes up to 8 s late, after others that were told later."""
    context.detector.transport.late = context.log_uniform(*LATE)


def clock_set_back(context: PerturbationContext) -> None:
    """Once, by 2 s to an hour, for good."""

    def set_back() -> None:
        context.detector.set_clock_back(round(context.log_uniform(*BACK_S) * 1_000))

    context.group.fleet.clock.after(context.delay_ms(BACK_AFTER_S), set_back)
