"""More collectors than one, one after the other or at once."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import PerturbationContext

RESTARTS_AFTER_S = (160, 420)  # a group has been seen for a while by then
AWAY_S = (5, 60)


def second(context: PerturbationContext) -> None:
    """Another collector with a source of its own: its rounds stand between those of the first."""
    context.detector.add_collector("simulation-2")


def restarted(context: PerturbationContext) -> None:
    """``kill -9``: it comes back under another source, and knows nothing of what was before."""
    clock = context.group.fleet.clock

    def kill() -> None:
        context.detector.collector.kill()
        clock.after(context.delay_ms(AWAY_S), context.detector.add_collector, "simulation-again")

    clock.after(context.delay_ms(RESTARTS_AFTER_S), kill)
