"""More collectors than one, a collector's clock that is set, and events that are lost or late after the collector."""

from __future__ import annotations

from bench.proof.perturbations.context import WatchContext

RESTARTS_AFTER_S = (160, 420)  # a group has been seen for a while by then
AWAY_S = (5, 60)
LOST = (0.001, 0.01)
LOST_EVERY_MS = 20_000
LATE = (0.02, 0.2)
BACK_AFTER_S = (160, 600)
BACK_S = (2, 3_600)


def second_collector(context: WatchContext) -> None:
    """Another collector with a source of its own: its rounds stand between those of the first."""
    context.detector.add_collector("simulation-2")


def collector_restarted(context: WatchContext) -> None:
    """``kill -9``: it comes back under another source, and knows nothing of what was before."""

    def kill() -> None:
        context.detector.collector.kill()
        context.clock.after(context.delay_ms(AWAY_S), context.detector.add_collector, "simulation-again")

    context.clock.after(context.delay_ms(RESTARTS_AFTER_S), kill)


def events_lost(context: WatchContext) -> None:
    """1 in 1,000 to 1 in 100."""
    context.detector.transport.lost = context.log_uniform(*LOST)


def event_lost_every_20s(context: WatchContext) -> None:
    def lose() -> None:
        context.detector.transport.loses_next = True
        context.clock.after(LOST_EVERY_MS, lose)

    context.clock.after(context.random.randrange(LOST_EVERY_MS), lose)


def events_reordered(context: WatchContext) -> None:
    """1 in 50 to 1 in 5 comes up to 8 s late, after others that were told later."""
    context.detector.transport.late = context.log_uniform(*LATE)


def clock_set_back(context: WatchContext) -> None:
    """Once, by 2 s to an hour, for good."""

    def set_back() -> None:
        context.detector.set_clock_back(round(context.log_uniform(*BACK_S) * 1_000))

    context.clock.after(context.delay_ms(BACK_AFTER_S), set_back)


DISTURBANCES = (
    second_collector,
    collector_restarted,
    events_lost,
    event_lost_every_20s,
    events_reordered,
    clock_set_back,
)
