"""Filters with the same meaning that each JVM writes in another order."""

from __future__ import annotations

from random import Random

from streaming.simulation.evaluation.perturbations.context import PerturbationContext

TAGS = ("TagC", "TagD", "TagE")
BETWEEN = ("||", " || ", "|| ")


def another_order(context: PerturbationContext) -> None:
    """Each client subscribes to the same three tags, in an order of its own, as from a ``Set.of`` of Java."""
    salt = context.random.randrange(1 << 30)

    def filter_of(client_id: str) -> str:
        random = Random(f"{client_id} {salt}")
        return random.choice(BETWEEN).join(random.sample(TAGS, len(TAGS)))

    context.group.filter_of = filter_of
