"""Why queues are as they are, in the form in which every rule says it."""

from collections.abc import Sequence

from msgspec import Struct

from schemas.facts import Cause
from streaming.core.evidence.topic_evidence import TopicEvidence


class Explanation(Struct, frozen=True):
    """A cause, the queues it explains, what shows it, and which clients it names."""

    cause: Cause
    queues: frozenset[int]
    evidence: str
    clients: frozenset[int] = frozenset()


def ids_and(topic: TopicEvidence, indices: list[int], one: str, many: str) -> str:
    """The same, and what is said of them: ``one`` of a single client, ``many`` of several."""
    return f"{ids(topic, indices)} {one if len(indices) == 1 else many}"


def do_not_subscribe(topic: TopicEvidence, indices: list[int]) -> str:
    who = ids_and(topic, indices, "is a member but does not", "are members but do not")
    return f"{who} subscribe to {topic.topic.name}"


def ids(topic: TopicEvidence, indices: list[int]) -> str:
    """The first three, and how many more."""
    return first_of(topic.group.client_ids(indices))


def first_of(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
