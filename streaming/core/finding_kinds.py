"""Kinds of findings: one row for each, with all that the code knows of a kind. So here stands how long a finding must
hold before its alert fires (``fires_after``), and be right before it is resolved (``resolves_after``).
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from schemas.facts import Kind, Severity
from streaming.core.settings import Timing

HOLD_CRITICAL_MS = 5_000  # clients are asked at different times
HOLD_WARNING_MS = 30_000  # each client has been asked again meanwhile
HOLD_INFO_MS = 60_000  # at most: nobody is called
HOLD_NO_MEMBERS_MS = 120_000  # a group may be restarted as a whole
HOLD_MEMBERS_SPLIT_MS = 150_000  # a proxy lists a client for up to 130 s that has gone over to brokers
Hold = Callable[[Timing], int]  # milliseconds


class Scope(Enum):
    """The subject of a finding. A finding of a topic or a group may name queues."""

    QUEUE = "queue"
    TOPIC = "topic"
    GROUP = "group"


class Basis(Enum):
    """The evidence that a finding rests on."""

    REPORTS = "reports"  # members say which queues they own
    OFFSETS = "offsets"  # brokers say how far the group is
    LISTS = "lists"  # brokers say who is a member
    POLLS = "polls"  # brokers say how many polls of clients wait
    ROUTES = "routes"  # name servers say which queues there are
    EXCLUSION = "exclusion"  # RocketMQ or the operator does not let the group share out its queues
    NOTHING = "nothing"  # evidence is missing


class Meaning(Enum):
    RIGHT = "right"  # for a queue; of a group without members the group's own finding tells
    UNDECIDED = "undecided"
    WRONG = "wrong"


class KindRow(NamedTuple):
    """``severity`` is the usual one; a rule may give another. ``alerts``: alerts are made of it.

    ``wrong_owners``: the queue is not owned by who should own it, and by nobody else. ``fires_after``: how long it must
    hold before its alert fires; None: as long as its severity demands. ``resolves_after``: how long it must be right
    again before its alert is resolved.
    """

    scope: Scope
    basis: Basis
    meaning: Meaning
    severity: Severity = Severity.NONE
    alerts: bool = False
    wrong_owners: bool = False
    fires_after: Hold | None = None
    resolves_after: Hold = lambda timing: timing.hold_critical_ms


def _at_once(_: Timing) -> int:
    """The finding itself has waited."""
    return 0


_QUEUE, _TOPIC, _GROUP = Scope
_CRITICAL, _WARNING, _INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO

KINDS: dict[Kind, KindRow] = {
    Kind.EXCLUDED: KindRow(_QUEUE, Basis.EXCLUSION, Meaning.RIGHT),
    Kind.DUPLICATED: KindRow(_QUEUE, Basis.REPORTS, Meaning.WRONG, _CRITICAL, alerts=True, wrong_owners=True),
    Kind.ORPHANED: KindRow(_QUEUE, Basis.REPORTS, Meaning.WRONG, _CRITICAL, alerts=True, wrong_owners=True),
    Kind.STALLED: KindRow(_QUEUE, Basis.OFFSETS, Meaning.WRONG, _CRITICAL, alerts=True, fires_after=_at_once),
    Kind.SLOW_CONSUMER: KindRow(_QUEUE, Basis.OFFSETS, Meaning.WRONG, _WARNING, alerts=True, fires_after=_at_once),
    Kind.CONSUME_DISABLED: KindRow(_QUEUE, Basis.OFFSETS, Meaning.WRONG, _INFO),
    Kind.UNKNOWN: KindRow(_QUEUE, Basis.NOTHING, Meaning.UNDECIDED),
    Kind.SETTLING: KindRow(_QUEUE, Basis.REPORTS, Meaning.UNDECIDED),
    Kind.PHANTOM: KindRow(_QUEUE, Basis.REPORTS, Meaning.WRONG, _WARNING, alerts=True),
    Kind.MISPLACED: KindRow(_QUEUE, Basis.REPORTS, Meaning.WRONG, _WARNING, alerts=True, wrong_owners=True),
    Kind.MATCH: KindRow(_QUEUE, Basis.REPORTS, Meaning.RIGHT),
    Kind.UNPOLLED: KindRow(_QUEUE, Basis.POLLS, Meaning.WRONG, _CRITICAL, alerts=True, fires_after=_at_once),
    Kind.HEAD_BLOCKED: KindRow(_QUEUE, Basis.POLLS, Meaning.WRONG, _WARNING, alerts=True, fires_after=_at_once),
    Kind.POLLED: KindRow(_QUEUE, Basis.POLLS, Meaning.RIGHT),
    Kind.INCONSISTENT_SUBSCRIPTION: KindRow(_GROUP, Basis.REPORTS, Meaning.WRONG, _WARNING, alerts=True),
    Kind.SHARED_CLIENT_ID: KindRow(_GROUP, Basis.LISTS, Meaning.WRONG, _WARNING, alerts=True),
    Kind.MEMBER_LISTS_DIFFER: KindRow(
        _GROUP, Basis.LISTS, Meaning.WRONG, _WARNING, alerts=True, fires_after=lambda t: t.second_address_proof_ms
    ),
    Kind.MEMBERS_SPLIT: KindRow(
        _GROUP, Basis.LISTS, Meaning.WRONG, _CRITICAL, alerts=True, fires_after=lambda timing: HOLD_MEMBERS_SPLIT_MS
    ),
    Kind.UNREADABLE_QUEUES: KindRow(_TOPIC, Basis.ROUTES, Meaning.WRONG, _WARNING, alerts=True),
    Kind.OFFSETS_WENT_BACK: KindRow(_TOPIC, Basis.OFFSETS, Meaning.WRONG, _WARNING, alerts=True, fires_after=_at_once),
    Kind.CONSUMED_AGAIN: KindRow(_TOPIC, Basis.OFFSETS, Meaning.WRONG, _WARNING, alerts=True, fires_after=_at_once),
    Kind.REVIVE_STUCK: KindRow(_TOPIC, Basis.OFFSETS, Meaning.WRONG, _WARNING, alerts=True, fires_after=_at_once),
    Kind.NO_MEMBERS: KindRow(
        _GROUP, Basis.LISTS, Meaning.RIGHT, _WARNING, alerts=True, fires_after=lambda timing: HOLD_NO_MEMBERS_MS
    ),
    Kind.REBALANCE_STORM: KindRow(_GROUP, Basis.LISTS, Meaning.WRONG, _WARNING, alerts=True, fires_after=_at_once),
    Kind.IDLE_MEMBERS: KindRow(_TOPIC, Basis.LISTS, Meaning.WRONG, _INFO),
}


def row_of(finding: str) -> KindRow | None:
    """None for a finding of another version of evenkeel, which is none of these kinds."""
    return KINDS[Kind(finding)] if finding in Kind.__members__ else None


def _kinds(is_such: Callable[[KindRow], bool]) -> frozenset[Kind]:
    return frozenset(kind for kind, row in KINDS.items() if is_such(row))


ALERTING = _kinds(lambda row: row.alerts)
ALERTING_OF_QUEUES = _kinds(lambda row: row.alerts and row.scope is Scope.QUEUE)
RIGHT = _kinds(lambda row: row.meaning is Meaning.RIGHT)
UNDECIDED = _kinds(lambda row: row.meaning is Meaning.UNDECIDED)
NOT_JUDGED = UNDECIDED | _kinds(lambda row: row.basis is Basis.EXCLUSION)  # their reason says why
BY_OFFSETS = _kinds(lambda row: row.basis is Basis.OFFSETS and row.scope is Scope.QUEUE)
BY_POLLS = _kinds(lambda row: row.basis is Basis.POLLS)
BY_REPORTS = _kinds(lambda row: row.basis is Basis.REPORTS)
DECIDED_BY_REPORTS = BY_REPORTS - UNDECIDED
NOT_RIGHT_BY_REPORTS = BY_REPORTS - RIGHT
WRONG = _kinds(lambda row: row.meaning is Meaning.WRONG)
WRONG_BY_POLLS = WRONG & BY_POLLS
WHATEVER_MEMBERS_RUN = frozenset(  # of a group
    {
        *(Kind.MEMBERS_SPLIT, Kind.UNREADABLE_QUEUES, Kind.OFFSETS_WENT_BACK, Kind.CONSUMED_AGAIN, Kind.REVIVE_STUCK),
        *(Kind.NO_MEMBERS, Kind.REBALANCE_STORM),
    }
)
WRONG_OWNERS = _kinds(lambda row: row.wrong_owners)


def fires_after_ms(kind: Kind, severity: Severity, timing: Timing) -> int:
    """How long the finding must hold before its alert fires."""
    fires_after = KINDS[kind].fires_after
    if fires_after is None:
        return timing.hold_critical_ms if severity is Severity.CRITICAL else timing.hold_warning_ms
    return min(fires_after(timing), HOLD_INFO_MS) if severity is Severity.INFO else fires_after(timing)


def is_less_than_usual(kind: Kind, severity: Severity | None) -> bool:
    """True if it is but info, though its kind usually is more: nobody is called, because it may end by itself."""
    return severity is Severity.INFO is not KINDS[kind].severity
