"""What the facts of one group amount to at a time, as plain values: the keys of ``evenkeel explain --json``.

Times are epoch milliseconds, UTC.
"""

from msgspec import Struct

from schemas.facts import MemberFact

SCHEMA = 1


class View(Struct, frozen=True):
    """Whom one broker lists; an id twice is two channels under one id."""

    broker_name: str
    clients: tuple[str, ...]


class Queue(Struct, frozen=True):
    """``owners`` and ``expected`` are None where they are not known; ``()``: that it is nobody's was proven.

    ``reason`` says why it is EXCLUDED, UNKNOWN or SETTLING, as it was at ``told_ts``: it is not told again while the
    finding stays the same.
    """

    topic: str
    broker_name: str
    queue_id: int
    finding: str
    cause: str | None
    reason: str | None
    owners: tuple[str, ...] | None
    expected: tuple[str, ...] | None
    since_ts: int
    told_ts: int


class Transition(Struct, frozen=True):
    """One step in the life of an alert; ``queues`` is how many it had."""

    ts: int
    state: str
    reason: str
    why: str
    severity: str
    cause: str | None
    queues: int
    stale: bool


class Alert(Struct, frozen=True):
    """One that is open, or was within the last hour; ``transitions`` since it was found, oldest first."""

    fingerprint: str
    topic: str | None
    kind: str
    state: str
    severity: str
    cause: str | None
    evidence: str
    stale: bool
    queues: tuple[tuple[str, int], ...]
    transitions: tuple[Transition, ...]


class Unalerted(Struct, frozen=True):
    """Queues that are not as they should be, or cannot be judged, and why no alert says so.

    ``told_ts`` is when the newest of them was told: as of then, ``reason`` holds.
    """

    topic: str
    finding: str
    cause: str | None
    reason: str | None
    why: str
    queues: tuple[tuple[str, int], ...]
    told_ts: int


class Change(Struct, frozen=True):
    """What happened before: in words of ours."""

    ts: int
    what: str


class Monitor(Struct, frozen=True):
    """evenkeel itself: what it last said of the cluster (ok, idle, late, data_lost), and until when it had seen it."""

    ts: int
    status: str
    seen_ts: int


class GroupSnapshot(Struct, frozen=True, kw_only=True):
    """``ts`` is the time asked for, ``newest_ts`` of the newest fact until then; None: not told by then.

    ``counts``, ``brokers_covered``, ``brokers_known`` and ``members_reporting`` are as of ``status_ts``.
    """

    schema: int = SCHEMA
    cluster: str
    group: str
    ts: int
    newest_ts: int
    monitor: Monitor | None
    status: str | None
    status_ts: int | None
    reason: str | None
    counts: dict[str, int] | None
    brokers_covered: int | None
    brokers_known: int | None
    members_reporting: int | None
    members: tuple[MemberFact, ...]
    views: tuple[View, ...]
    queues: tuple[Queue, ...]
    alerts: tuple[Alert, ...]
    unalerted: tuple[Unalerted, ...]
    changes: tuple[Change, ...]
