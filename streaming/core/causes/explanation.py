"""What a rule says that explains findings."""

from collections.abc import Iterable

from msgspec import Struct

from schemas.facts import Cause
from schemas.observed import Part


class Explanation(Struct, frozen=True):
    """A cause, the indices of the queues that it explains, what shows it, and the indices of the clients it names."""

    cause: Cause
    queues: frozenset[int]
    observed: Part
    clients: frozenset[int] = frozenset()


def explanation(cause: Cause, queues: Iterable[int], observed: Part, clients: Iterable[int] = ()) -> Explanation:
    return Explanation(cause, frozenset(queues), observed, frozenset(clients))
