"""A cause that a rule gives for findings, and how well it fits."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from schemas.facts import Cause, Kind
from schemas.observed import Part


class Found(NamedTuple):
    """A finding that needs a cause: its kind, and the indices of the queues of one topic that have it."""

    kind: Kind
    queues: frozenset[int]


class Explanation(Struct, frozen=True):
    """A cause, the indices of the queues that it explains, what shows it, and the indices of the clients it names.

    ``predicted``: the queues of the topic that must have the finding if this is its cause. Empty where that cannot be
    computed: then the cause may bring about the finding in any queue that it explains, and need not in any.
    """

    cause: Cause
    queues: frozenset[int]
    observed: Part
    clients: frozenset[int] = frozenset()
    predicted: frozenset[int] = frozenset()


def explanation(
    cause: Cause, queues: Iterable[int], observed: Part, clients: Iterable[int] = (), predicted: Iterable[int] = ()
) -> Explanation:
    return Explanation(cause, frozenset(queues), observed, frozenset(clients), frozenset(predicted))
