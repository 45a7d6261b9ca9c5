"""A message queue as it is remembered, and how things are packed."""

from typing import Any, Generic, TypeVar

from msgspec import Struct, field


class Packed(Struct, array_like=True, gc=False):
    """Base of what is packed; only their order distinguishes the fields. No cycles, so no work for Python's GC."""


class PackedValue(Struct, array_like=True, frozen=True, gc=False):
    """The same, for values that never change and can be shared."""


class QueueAnomaly(Packed):
    """What is kept of a queue only while it is not right."""

    cause: str | None = None
    unhealthy_since_ts: int = 0  # since when it has not been right, the time in which it settled included
    mismatch_since_ts: int = 0  # since when it has not looked right in the newest reports
    proven: int = 0  # what reports proved last, as a finding's code, while it has not been right since
    evidence_ts: int = 0  # newest report behind that when it was proven first
    idle_since_ts: int = 0  # while it stands still: when its owner was first seen with nothing of it in hand
    consumed_ts: int = 0  # while messages wait that are not pulled: when the last one consumed came; 0: not known
    two_owners_since_ts: int = 0  # since when two or more have said, each in its newest report, that they own it
    newest_owner_report_ts: int = 0  # when the last of them did
    unexplained_reports: int = (
        0  # how often one did after another, less the changes since: what healthy hand-overs cannot explain
    )
    unconsumed_since_ts: int = 0  # since when the consumer offset has been seen not to move while messages wait
    severity: int = 0  # how severe its last fact said that it is, as a severity's code


_NO_ANOMALY = QueueAnomaly()
T = TypeVar("T")


class _OfAnomaly(Generic[T]):
    """A field of a queue's anomaly that is read and set as the queue's own; most queues are right and have none."""

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
    """A message queue: what was last found of it, and its offsets. Lags are relative to ``broker_offset``.

    MessagePack needs two bytes more for an array of more than 15 fields, so rare fields are in ``anomaly``.
    """

    topic: int
    broker: int
    queue_id: int
    finding: int = 0
    since_ts: int = 0
    owners: list[int] = field(default_factory=list)
    last_stable_owners: list[int] = field(default_factory=list)  # who owned it when the group was last at rest
    expected: list[int] | None = None
    broker_offset: int = -1
    consumer_lag: int = 0  # broker_offset - consumer offset
    pull_lag: int = 0
    progress_ts: int = 0
    stalled_ms: int = 0  # how long before progress_ts neither offset had moved and messages waited; -1: not known
    publish_delay_ms: int = -1  # since_ts + this: when the queue's last fact was told; -1: none yet
    anomaly: QueueAnomaly | None = None

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
