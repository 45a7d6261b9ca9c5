"""Settings of a group at brokers, which operators change and change back."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import PerturbationContext
from streaming.simulation.simulated_group import WARM_UP_S

BEGINS_S = (WARM_UP_S + 5, WARM_UP_S + 300)
MAINTENANCE_S = (120, 1_800)


def maintenance(context: PerturbationContext) -> None:
    """The group is forbidden to consume (``consumeEnable``) for 2 to 30 minutes, and then allowed again."""
    fleet = context.group.fleet

    def begin() -> None:
        fleet.set_consume_enable(False)
        fleet.clock.after(context.delay_ms(MAINTENANCE_S), fleet.set_consume_enable, True)

    fleet.clock.after(context.delay_ms(BEGINS_S), begin)
