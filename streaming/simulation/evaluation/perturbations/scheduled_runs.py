"""Groups that have no members for a while on purpose, such as a scheduled job."""

from __future__ import annotations

from streaming.core.state.pauses import LATE, PAUSES_KEPT
from streaming.simulation.evaluation.perturbations.context import PerturbationContext

RUN_S = (200, 320)
PAUSE_S = (150, 300)  # longer than a group may be away of which nothing is known
SHORTER = 0.85  # no pause is shorter than so much of the longest
EMPTIED_S = 60  # before a pause in which nothing may wait
PAUSES_WITH_MESSAGES = 2


def runs_now_and_then(context: PerturbationContext) -> None:
    """Runs of some minutes and pauses, all before the group's first day: in the first pauses no message waits.

    By then it is known how long the group stays away. In later pauses messages wait, and no page may be sent.
    """
    group, random = context.group, context.random
    pause_s = random.uniform(*PAUSE_S)
    ids = [group.start().client_id for _ in range(group.shape.clients)]
    for number in range(PAUSES_KEPT + PAUSES_WITH_MESSAGES):
        group.fleet.run(random.uniform(*RUN_S))
        if number < PAUSES_KEPT:
            _consume_all(context)
        for client in list(group.clients):
            group.fleet.leave(client)
        group.fleet.run(pause_s * (1 if number == 0 else random.uniform(SHORTER, 1)))
        for topic in group.fleet.producer.topics:
            group.write(topic, group.shape.rate)
        for client_id in ids:
            group.start(client_id)
    group.fleet.run(random.uniform(*RUN_S))
    for client in list(group.clients):
        group.fleet.leave(client)
    group.away_ms = round(pause_s * 1_000 * (1 + 1 / LATE))


def _consume_all(context: PerturbationContext) -> None:
    """Stop writing until no message waits."""
    fleet = context.group.fleet
    for topic in fleet.producer.topics:
        context.group.write(topic, 0)
    fleet.run(EMPTIED_S)
    while fleet.messages_wait():
        fleet.run(EMPTIED_S)
