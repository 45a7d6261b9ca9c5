"""Brokers whose lists of members are not whole, or do not come."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import Stage

LACKS_EVERY_S = (60, 300)
TIMES_OUT_S = 25
TIMES_OUT_EVERY_S = (40, 175)


def lack_someone(stage: Stage) -> None:
    """Every 1 to 5 minutes a connection to one broker closes: its list lacks the client until the next heartbeat."""
    world, agenda = stage.world, stage.world.fleet.agenda

    def lose() -> None:
        agenda.after(stage.now_and_then(LACKS_EVERY_S), lose)
        running = [client for client in world.clients if not client.is_paused]
        if running:
            stage.random.choice(running).lose_connection(stage.random.choice(world.brokers))

    agenda.after(stage.now_and_then(LACKS_EVERY_S), lose)


def time_out(stage: Stage) -> None:
    """One broker does not answer who its members are for 25 s, every 40 to 175 s."""
    fleet = stage.world.fleet
    broker = fleet.brokers[stage.random.choice(stage.world.brokers)]
    period_ms = stage.now_and_then(TIMES_OUT_EVERY_S)

    def fail() -> None:
        broker.answers_lists = False
        fleet.agenda.after(TIMES_OUT_S * 1_000, answer)
        fleet.agenda.after(period_ms, fail)

    def answer() -> None:
        broker.answers_lists = True

    fleet.agenda.after(stage.random.randrange(period_ms), fail)
