"""What a rule finds of a topic or of the whole group."""

from msgspec import Struct

from schemas.facts import Cause, Kind
from schemas.observed import Part


class GroupFinding(Struct, frozen=True):
    """What a rule found of a topic (``""``: of the group), and, once it is known, since when it holds."""

    kind: Kind
    topic: str
    observed: Part
    cause: Cause | None = None
    queues: tuple[int, ...] = ()
    clients: tuple[int, ...] = ()  # those that it is about, where it is not about all
    since_ts: int = 0
