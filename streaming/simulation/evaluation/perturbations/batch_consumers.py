"""Listeners that consume in long batches and are healthy."""

from __future__ import annotations

from dataclasses import replace

from streaming.simulation.consumer import Consumer
from streaming.simulation.evaluation.perturbations.context import PerturbationContext

BATCH_S = (20, 180)
IN_HAND = 900  # a batch takes all that comes meanwhile: with more, its listener would be too slow for the queue
REST_S = (5, 30)
SILENT_FROM_S = (200, 1_200)


def batches(context: PerturbationContext) -> None:
    """Each client works off its queues in batches of 20 to 180 s, and commits once a batch is done."""
    group, clock = context.group, context.group.fleet.clock
    most_s = min(BATCH_S[1], IN_HAND / group.shape.rate)
    lasts_ms = round(context.log_uniform(min(BATCH_S[0], most_s / 2), most_s) * 1_000)
    seen: set[int] = set()

    def take(client: Consumer) -> None:
        if client.is_running:
            client.set_speed(0)
            clock.after(lasts_ms, finish, client)

    def finish(client: Consumer) -> None:
        if client.is_running:
            client.set_speed(group.config.speed)
            clock.after(context.delay_ms(REST_S), take, client)

    def look() -> None:
        """Find clients that have started since."""
        for client in group.clients:
            if id(client) not in seen:
                seen.add(id(client))
                clock.after(context.random.randrange(lasts_ms), take, client)
        clock.after(20_000, look)

    look()


def batches_of_silent_clients(context: PerturbationContext) -> None:
    """The same, and at some time all clients that run then stop answering for their running info, and go on to work."""
    batches(context)
    context.group.fleet.clock.after(context.delay_ms(SILENT_FROM_S), _fall_silent, context)


def _fall_silent(context: PerturbationContext) -> None:
    for client in context.group.clients:
        client.config = replace(client.config, sdk=replace(client.config.sdk, answers=False))
