"""A message queue as it is remembered, and how things are packed."""

from typing import Any, Generic, TypeVar

from msgspec import Struct, field


class Packed(Struct, array_like=True, gc=False):
    """Base of what is packed; fields are told apart by their order alone. No cycles: nothing for the collector."""


class PackedValue(Struct, array_like=True, frozen=True, gc=False):
    """The same, for values that never change and can be shared."""


class Unrest(Packed):
    """What is kept of a queue only while something is the matter with it."""

    cause: str | None = None
    wrong_ts: int = 0  # since when it has not been right, the time in which it settled included
    differs_ts: int = 0  # since when it has not looked right in the newest reports
    proven: int = 0  # what reports proved last, as a finding's code, while it has not been right since
    evidence_ts: int = 0  # newest report behind that when it was proven first
    idle_ts: int = 0  # while it stands still: when its owner was first seen with nothing of it in hand
    consumed_ts: int = 0  # while messages wait that are not pulled: when the last one consumed came; 0: not known
    twice_ts: int = 0  # since when two or more have said, each in its newest report, that they own it
    said_ts: int = 0  # when the last of them did
    spare: int = 0  # how often one did after another, less the changes since: what healthy hand-overs cannot explain
    stands_ts: int = 0  # since when the consumer offset has been seen not to move while messages wait
    severity: int = 0  # how severe its last fact said that it is, as a severity's code


_AT_REST = Unrest()
T = TypeVar("T")


class _OfUnrest(Generic[T]):
    """A field of a queue's unrest that reads and is set as the queue's own; most queues are at rest and have none."""

    def __init__(self, default: T) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, queue: "Queue", owner: type | None = None) -> T:
        unrest = queue.unrest
        value: Any = self.default if unrest is None else getattr(unrest, self.name)
        return value  # type: ignore[no-any-return]

    def __set__(self, queue: "Queue", value: T) -> None:
        if queue.unrest is None:
            if value == self.default:
                return
            queue.unrest = Unrest()
        setattr(queue.unrest, self.name, value)
        if queue.unrest == _AT_REST:
            queue.unrest = None


class Queue(Packed):
    """A message queue: what was last found of it, and its offsets. Lags are relative to ``broker_offset``.

    MessagePack needs two bytes more for an array of more than 15 fields: what is rare stands in ``unrest``.
    """

    topic: int
    broker: int
    queue_id: int
    finding: int = 0
    since_ts: int = 0
    owners: list[int] = field(default_factory=list)
    settled: list[int] = field(default_factory=list)  # who owned it when the group was last at rest
    expected: list[int] | None = None
    broker_offset: int = -1
    consumer_lag: int = 0  # broker_offset - consumer offset
    pull_lag: int = 0
    progress_ts: int = 0
    still_ms: int = 0  # how long before progress_ts neither offset had moved and messages waited; -1: not known
    told_after_ms: int = -1  # since_ts + this: when the queue's last fact was told; -1: none yet
    unrest: Unrest | None = None

    cause = _OfUnrest[str | None](None)
    wrong_ts = _OfUnrest(0)
    differs_ts = _OfUnrest(0)
    proven = _OfUnrest(0)
    evidence_ts = _OfUnrest(0)
    idle_ts = _OfUnrest(0)
    consumed_ts = _OfUnrest(0)
    twice_ts = _OfUnrest(0)
    said_ts = _OfUnrest(0)
    spare = _OfUnrest(0)
    stands_ts = _OfUnrest(0)
    severity = _OfUnrest(0)
