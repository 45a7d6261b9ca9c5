"""Why queues are as they are, in the form in which every rule says it."""

from msgspec import Struct

from schemas.facts import Cause
from streaming.core.topic_evidence import TopicEvidence


class Explanation(Struct, frozen=True):
    """A cause, the queues it explains, what shows it, and which clients it names."""

    cause: Cause
    queues: frozenset[int]
    evidence: str
    clients: frozenset[int] = frozenset()


def ids(topic: TopicEvidence, places: list[int]) -> str:
    """The first three, and how many more."""
    found = topic.group.client_ids(places)
    return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
