"""More collectors than one, a collector's clock that is set, and events that are lost or late after the collector."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import PerturbationContext

RESTARTS_AFTER_S = (160, 420)  # a group has been seen for a while by then
AWAY_S = (5, 60)
LOST = (0.001, 0.01)
LOST_EVERY_MS = 20_000
LATE = (0.02, 0.2)
BACK_AFTER_S = (160, 600)
BACK_S = (2, 3_600)


def second_collector(context: PerturbationContext) -> None:
    """Another collector with a source of its own: its rounds stand between those of the first."""
    context.detector.add_collector("simulation-2")


def collector_restarted(context: PerturbationContext) -> None:
    """``kill -9``: it comes back under another source, and knows nothing of what was before."""
    clock = context.group.fleet.clock

    def kill() -> None:
        context.detector.collector.kill()
        clock.after(context.delay_ms(AWAY_S), context.detector.add_collector, "simulation-again")

    clock.after(context.delay_ms(RESTARTS_AFTER_S), kill)


def events_lost(context: PerturbationContext) -> None:
    """1 in 1,000 to 1 in 100."""
    context.detector.transport.lost = context.log_uniform(*LOST)


def event_lost_every_20s(context: PerturbationContext) -> None:
    def lose() -> None:
        context.detector.transport.loses_next = True
        context.group.fleet.clock.after(LOST_EVERY_MS, lose)

    context.group.fleet.clock.after(context.random.randrange(LOST_EVERY_MS), lose)


def events_reordered(context: PerturbationContext) -> None:
    """1 in 50 to 1 in 5 comes up to 8 s late, after others that were told later."""
    context.detector.transport.late = context.log_uniform(*LATE)


def clock_set_back(context: PerturbationContext) -> None:
    """Once, by 2 s to an hour, for good."""

    def set_back() -> None:
        context.detector.set_clock_back(round(context.log_uniform(*BACK_S) * 1_000))

    context.group.fleet.clock.after(context.delay_ms(BACK_AFTER_S), set_back)
