"""More collectors than one, one after the other or at once."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import Stage

RESTARTS_AFTER_S = (160, 420)  # a group has been seen for a while by then
AWAY_S = (5, 60)


def second(stage: Stage) -> None:
    """Another collector with a source of its own: its rounds stand between those of the first."""
    stage.detector.add_collector("simulation-2")


def restarted(stage: Stage) -> None:
    """``kill -9``: it comes back under another source, and knows nothing of what was before."""
    agenda = stage.world.fleet.agenda

    def kill() -> None:
        stage.detector.collector.kill()
        agenda.after(stage.now_and_then(AWAY_S), stage.detector.add_collector, "simulation-again")

    agenda.after(stage.now_and_then(RESTARTS_AFTER_S), kill)
