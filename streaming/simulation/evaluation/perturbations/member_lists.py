"""Brokers whose lists of members are incomplete or missing."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import PerturbationContext

LACKS_EVERY_S = (60, 300)
TIMES_OUT_S = 25
TIMES_OUT_EVERY_S = (40, 175)


def lack_someone(context: PerturbationContext) -> None:
    """Every 1 to 5 minutes a connection to one broker closes: its list lacks the client until the next heartbeat."""
    group, clock = context.group, context.group.fleet.clock

    def lose() -> None:
        clock.after(context.delay_ms(LACKS_EVERY_S), lose)
        running = [client for client in group.clients if not client.is_paused]
        if running:
            context.random.choice(running).lose_connection(context.random.choice(group.brokers))

    clock.after(context.delay_ms(LACKS_EVERY_S), lose)


def time_out(context: PerturbationContext) -> None:
    """One broker does not answer who its members are for 25 s, every 40 to 175 s."""
    fleet = context.group.fleet
    broker = fleet.brokers[context.random.choice(context.group.brokers)]
    period_ms = context.delay_ms(TIMES_OUT_EVERY_S)

    def fail() -> None:
        broker.answers_lists = False
        fleet.clock.after(TIMES_OUT_S * 1_000, answer)
        fleet.clock.after(period_ms, fail)

    def answer() -> None:
        broker.answers_lists = True

    fleet.clock.after(context.random.randrange(period_ms), fail)
