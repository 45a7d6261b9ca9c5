"""Dead connections that brokers do not know to be dead yet."""

from __future__ import annotations

from streaming.simulation.evaluation.perturbations.context import PerturbationContext
from streaming.simulation.simulated_group import TOPIC, WARM_UP_S

BEGINS_S = (WARM_UP_S + 5, WARM_UP_S + 120)
BEFORE_THE_BLIP_S = (0, 60)
MORE_QUEUES = (1, 5)
AGAIN_S = (300, 900)


def half_open_after_a_change(context: PerturbationContext) -> None:
    """A client leaves, or the topic grows, and within a minute another client reconnects: brokers list it twice.

    It begins and ends without a cause from outside, many times.
    """
    context.group.fleet.clock.after(context.delay_ms(BEGINS_S), _change, context)


def _change(context: PerturbationContext) -> None:
    group, clock = context.group, context.group.fleet.clock
    if len(group.clients) > 2 and context.random.random() < 0.5:
        left = context.random.choice(group.clients)
        group.fleet.leave(left)
        clock.after(context.delay_ms(AGAIN_S), lambda: group.start(config=group.config_of(left)))
    else:
        has = max(data.read_queue_nums for data in (b.topics[TOPIC] for b in group.fleet.brokers.values()))
        group.put_topic(has + context.random.randrange(*MORE_QUEUES))
    clock.after(context.delay_ms(BEFORE_THE_BLIP_S), _blip, context)
    clock.after(context.delay_ms(AGAIN_S), _change, context)


def _blip(context: PerturbationContext) -> None:
    running = [client for client in context.group.clients if not client.is_paused]
    if running:
        context.random.choice(running).lose_connections()
