"""Listeners that take their time and are well."""

from __future__ import annotations

from streaming.simulation.consumer import Consumer
from streaming.simulation.evaluation.perturbations.context import Stage

BATCH_S = (20, 180)
IN_HAND = 900  # a batch takes all that comes meanwhile: with more, its listener would be too slow for the queue
REST_S = (5, 30)


def batches(stage: Stage) -> None:
    """Each client works off its queues in batches of 20 to 180 s, and commits once a batch is done."""
    world, agenda = stage.world, stage.world.fleet.agenda
    most_s = min(BATCH_S[1], IN_HAND / world.shape.rate)
    lasts_ms = round(stage.magnitude(min(BATCH_S[0], most_s / 2), most_s) * 1_000)
    seen: set[int] = set()

    def take(client: Consumer) -> None:
        if client.is_running:
            client.work_at(0)
            agenda.after(lasts_ms, finish, client)

    def finish(client: Consumer) -> None:
        if client.is_running:
            client.work_at(world.manner.speed)
            agenda.after(stage.now_and_then(REST_S), take, client)

    def look() -> None:
        """Clients that have started since."""
        for client in world.clients:
            if id(client) not in seen:
                seen.add(id(client))
                agenda.after(stage.random.randrange(lasts_ms), take, client)
        agenda.after(20_000, look)

    look()
