"""A message queue as it is remembered, and how things are packed."""

from typing import Any, Generic, TypeVar

from msgspec import Struct, field


class Packed(Struct, array_like=True, gc=False):
    """Base of mutable parts of the state. They are packed as arrays, so only their order distinguishes the fields.

    They refer to each other by index and make no cycles, so Python's garbage collector need not track them.
    """


class PackedValue(Struct, array_like=True, frozen=True, gc=False):
    """Base of immutable parts of the state, which can be shared."""


class QueueAnomaly(Packed):
    """The fields of a queue that are kept only while something is wrong with it. A time of 0: it is not so."""

    cause: str | None = None  # schemas.facts.Cause of its finding; None: it has none
    unhealthy_since_ts: int = 0  # since when it has not been right, the time in which it settled included
    mismatch_since_ts: int = 0  # since when it has not looked right by the newest reports
    proven: int = 0  # index in FINDING_CODES of what reports last proved since it is not right; 0: nothing
    evidence_ts: int = 0  # time of the newest report when ``proven`` was proven first
    idle_since_ts: int = 0  # since when its owner has held no message of it, while it stands still
    consumed_ts: int = 0  # when the last consumed message was written, while messages wait; 0: not known
    two_owners_since_ts: int = 0  # since when two or more instances have said in their newest reports that they own it
    newest_owner_report_ts: int = 0  # time of the newest of these reports
    # How often one of them has reported it after another, less the number of changes of members and routes since then.
    unexplained_reports: int = 0
    unconsumed_since_ts: int = 0  # since when messages wait and the group's offset has not moved
    severity: int = 0  # index in SEVERITY_CODES of what its newest fact says
    unclaimed_since_ts: int = 0  # since when no member's newest report has it, and its offsets have not moved
    longest_step_ms: int = 0  # the longest time that the group's offset stood still for twice lately, and moved on
    longest_step_ts: int = 0  # when it last stood still for long
    longest_once_ms: int = 0  # the longest time that it stood still for once lately
    owner_since_ts: int = 0  # since when its owner may be expected to consume it, while it stands still
    uncommitted_end: int = 0  # the end of the queue when it was read first, while the group's offset reads 0
    counted_since_ts: int = 0  # since when arrivals are counted, as the group's offset is not known; 0: it is


_NO_ANOMALY = QueueAnomaly()
T = TypeVar("T")


class _OfAnomaly(Generic[T]):
    """A field of ``Queue.anomaly`` that is read and set as the queue's own. Most queues have no anomaly."""

    def __init__(self, default: T) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, queue: "Queue", owner: type | None = None) -> T:
        anomaly = queue.anomaly
        value: Any = self.default if anomaly is None else getattr(anomaly, self.name)
        return value  # type: ignore[no-any-return]

    def __set__(self, queue: "Queue", value: T) -> None:
        if queue.anomaly is None:
            if value == self.default:
                return
            queue.anomaly = QueueAnomaly()
        setattr(queue.anomaly, self.name, value)
        if queue.anomaly == _NO_ANOMALY:
            queue.anomaly = None


class Queue(Packed):
    """A message queue: what was last found of it, and its offsets.

    MessagePack needs two bytes more for an array of more than 15 fields, so rare fields are in ``anomaly``.
    """

    topic: int  # index in GroupState.topics
    broker: int  # index in GroupState.brokers
    queue_id: int
    finding: int = 0  # index in FINDING_CODES
    since_ts: int = 0  # since when the finding has been the same
    owners: list[int] = field(default_factory=list)  # indices of clients
    last_stable_owners: list[int] = field(default_factory=list)  # ``owners`` when every queue was last right at once
    expected: list[int] | None = None  # indices of the clients that should own it; None: not known
    broker_offset: int = -1  # the end of the queue when its offsets were read last; -1: they have not been
    consumer_lag: int = 0  # broker_offset - consumer offset, in messages
    pull_lag: int = 0  # broker_offset - pull offset, in messages; where that is not known: consumer_lag
    progress_ts: int = 0  # when its offsets were read last; 0: they have not been
    stalled_ms: int = 0  # how long before progress_ts neither offset had moved and messages waited; -1: not known
    publish_delay_ms: int = -1  # since_ts + this: when its newest fact was emitted; -1: it has none
    anomaly: QueueAnomaly | None = None  # None: all of its fields have their defaults

    cause = _OfAnomaly[str | None](None)
    unhealthy_since_ts = _OfAnomaly(0)
    mismatch_since_ts = _OfAnomaly(0)
    proven = _OfAnomaly(0)
    evidence_ts = _OfAnomaly(0)
    idle_since_ts = _OfAnomaly(0)
    consumed_ts = _OfAnomaly(0)
    two_owners_since_ts = _OfAnomaly(0)
    newest_owner_report_ts = _OfAnomaly(0)
    unexplained_reports = _OfAnomaly(0)
    unconsumed_since_ts = _OfAnomaly(0)
    severity = _OfAnomaly(0)
    unclaimed_since_ts = _OfAnomaly(0)
    longest_step_ms = _OfAnomaly(0)
    longest_step_ts = _OfAnomaly(0)
    longest_once_ms = _OfAnomaly(0)
    owner_since_ts = _OfAnomaly(0)
    uncommitted_end = _OfAnomaly(0)
    counted_since_ts = _OfAnomaly(0)
