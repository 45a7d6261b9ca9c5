"""Brokers whose lists of members are incomplete, or that report less, and settings of a group at brokers."""

from __future__ import annotations

from bench.proof.perturbations.context import PerturbationContext
from streaming.simulation.simulated_group import WARM_UP_S

LACKS_EVERY_S = (60, 300)
TIMES_OUT_S = 25
TIMES_OUT_EVERY_S = (40, 175)
BEGINS_S = (WARM_UP_S + 5, WARM_UP_S + 300)
MAINTENANCE_S = (120, 1_800)


def list_lacks_someone(context: PerturbationContext) -> None:
    """Every 1 to 5 minutes a connection to one broker closes: its list lacks the client until the next heartbeat."""
    group, clock = context.group, context.group.fleet.clock

    def lose() -> None:
        clock.after(context.delay_ms(LACKS_EVERY_S), lose)
        running = [client for client in group.clients if not client.is_paused]
        if running:
            context.random.choice(running).lose_connection(context.random.choice(group.brokers))

    clock.after(context.delay_ms(LACKS_EVERY_S), lose)


def list_times_out(context: PerturbationContext) -> None:
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


def maintenance(context: PerturbationContext) -> None:
    """The group is forbidden to consume (``consumeEnable``) for 2 to 30 minutes, and then allowed again."""
    fleet = context.group.fleet

    def begin() -> None:
        fleet.set_consume_enable(False)
        fleet.clock.after(context.delay_ms(MAINTENANCE_S), fleet.set_consume_enable, True)

    fleet.clock.after(context.delay_ms(BEGINS_S), begin)


def old_brokers(context: PerturbationContext) -> None:
    """Brokers of 4.x, which do not report pull offsets."""
    for broker in context.group.fleet.brokers.values():
        broker.tells_pull_offsets = False
