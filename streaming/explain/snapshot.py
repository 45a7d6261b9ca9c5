"""The state of one group at a time, from its facts: the keys of ``explain --json``. Times are epoch ms, UTC."""

from collections import Counter
from enum import Enum

from msgspec import Struct

from schemas.facts import AlertState, Kind, MemberFact
from schemas.identity import is_retry_topic
from schemas.observed import Observed
from schemas.reasons import ReasonDetails
from streaming.core.finding_kinds import NOT_JUDGED
from streaming.core.group_status import REPEAT_STATUS_MS
from streaming.newest_facts import ClusterHealth
from streaming.snapshots.values import GroupSnapshot, QueueName, QueueSnapshot

LONG_QUIET_MS = 120_000  # a round comes every 5 s; far longer than a restart of the job takes
SILENT_AFTER_MS = REPEAT_STATUS_MS + 300_000  # the status of an idle group is written again by then


class BrokerList(Struct, frozen=True):
    """The clients that one broker lists; an id twice is two channels under one id."""

    broker_name: str
    clients: tuple[str, ...]


class ExplainedQueue(QueueSnapshot, frozen=True, kw_only=True):
    """A queue. ``reason`` is as of ``told_ts``: no new fact is written while the finding stays the same.

    ``reason_kind`` and ``reason_details`` are the same as data. ``waiting``: messages that are not consumed, as of
    ``read_ts``; None: not known. ``severity``: by this queue's own evidence.
    """

    finding: str
    severity: str | None = None
    reason_kind: str | None = None
    reason_details: ReasonDetails | None = None
    since_ts: int
    told_ts: int
    waiting: int | None = None
    read_ts: int | None = None

    @property
    def is_reason_of_expected(self) -> bool:
        """True if ``reason`` explains why the expected owners are not known, and not why the queue is not judged."""
        is_of_finding = self.finding in NOT_JUDGED or self.finding == Kind.CONSUME_DISABLED
        return self.reason_kind is not None and self.expected is None and not is_of_finding


class AlertStep(Struct, frozen=True):
    """One step in the life of an alert; ``queues`` is how many it had."""

    ts: int
    state: str
    reason: str
    why: str
    severity: str
    cause: str | None
    queues: int
    stale: bool


class ExplainedAlert(Struct, frozen=True):
    """An alert that is open, or was within the last hour; ``transitions`` since it was found, oldest first.

    ``evidence`` and ``observed`` are as of ``seen_ts``, ``waiting`` is as of ``read_ts``: messages that are not
    consumed, of which the oldest was stored after ``oldest_ts``; None: not known. Facts that only report another number
    of waiting messages are no transitions. ``since_ts`` and ``waits_for`` to ``right_since_ts`` are those of the newest
    fact. ``for_now`` and ``do``: what helps at once, and what ends the cause; empty if the alert is resolved.
    """

    fingerprint: str
    topic: str | None
    kind: str
    state: str
    severity: str
    cause: str | None
    evidence: str
    observed: Observed | None
    stale: bool
    queues: tuple[QueueName, ...]
    transitions: tuple[AlertStep, ...]
    seen_ts: int
    waiting: int | None
    read_ts: int | None
    oldest_ts: int | None
    since_ts: int
    waits_for: str | None
    waits_until_ts: int | None
    deploy_since_ts: int | None
    right_since_ts: int | None
    for_now: str
    do: str

    @property
    def is_open(self) -> bool:
        return self.state != AlertState.RESOLVED

    @property
    def is_right_for_now(self) -> bool:
        return self.right_since_ts is not None and self.state == AlertState.FIRING


class UnalertedQueues(Struct, frozen=True):
    """Queues that are wrong or cannot be judged, and why they have no alert.

    ``told_ts`` is the time of the newest fact about them, at which ``reason`` was so. ``reason_kind`` and
    ``reason_details`` are the same as data.
    """

    topic: str
    finding: str
    cause: str | None
    reason: str | None
    why: str
    queues: tuple[QueueName, ...]
    told_ts: int
    reason_kind: str | None = None
    reason_details: ReasonDetails | None = None


class GroupChange(Struct, frozen=True):
    """A change before, in evenkeel's words."""

    ts: int
    what: str


class MonitorStatus(Struct, frozen=True):
    """The state of evenkeel: its last report on the cluster (ok, idle, late, data_lost), and until when it saw it."""

    ts: int
    status: str
    seen_ts: int


def monitor_status(health: ClusterHealth) -> MonitorStatus:
    return MonitorStatus(health.ts, health.status, health.newest_round_ts or health.ts)


class ExplainedGroup(GroupSnapshot, frozen=True, kw_only=True):
    """A group. ``ts`` is the time asked for, ``newest_ts`` that of its newest fact then; None: not known then.

    ``reason_kind`` and ``reason_details`` are ``reason`` as data. ``counts``, ``retry_counts``, ``brokers_covered``,
    ``brokers_known`` and ``members_reporting`` are as of ``status_ts``.
    ``waiting``: messages that are not consumed, by offsets of which the oldest were read at ``read_ts``; the oldest of
    the messages was stored after ``oldest_ts``. None: not known.
    """

    newest_ts: int
    monitor: MonitorStatus | None
    status_ts: int | None
    reason_kind: str | None = None
    reason_details: ReasonDetails | None = None
    counts: dict[str, int] | None
    retry_counts: dict[str, int] | None = None
    brokers_covered: int | None
    brokers_known: int | None
    members_reporting: int | None
    waiting: int | None = None
    read_ts: int | None = None
    oldest_ts: int | None = None
    members: tuple[MemberFact, ...]
    views: tuple[BrokerList, ...]
    queues: tuple[ExplainedQueue, ...]
    alerts: tuple[ExplainedAlert, ...]
    unalerted: tuple[UnalertedQueues, ...]
    changes: tuple[GroupChange, ...]

    @property
    def owned(self) -> Counter[str]:
        """The number of queues that each client owns, without those of retry topics."""
        return Counter(owner for q in self.queues if not is_retry_topic(q.topic) for owner in q.owners or ())

    @property
    def owns_none(self) -> bool:
        """True if its clients own no queue, and do not report any: they poll brokers for messages."""
        return bool(self.polls) and not self.owned

    @property
    def listing(self) -> frozenset[str]:
        """Brokers and proxies that list a member."""
        return frozenset(broker for member in self.members for broker in member.brokers)


class Doubt(Enum):
    """The reason for a doubt about a group: its known state may be out of date, or incomplete."""

    QUIET = "quiet"  # no fact is newer, and it is not known if evenkeel has seen the cluster since
    BLIND = "blind"  # evenkeel has seen nothing of the cluster since
    SILENT = "silent"  # the cluster was seen, but nothing of the group
    EVENTS_LOST = "events_lost"  # events were lost shortly before


def is_unseen(seen_ts: int | None, now: int) -> bool:
    """True if evenkeel has not seen a cluster for long. ``seen_ts`` None: it is not known when it last saw it."""
    return seen_ts is not None and now - seen_ts > LONG_QUIET_MS


def doubt_of(group: ExplainedGroup, now: int) -> Doubt | None:
    """The doubt at ``now``, epoch milliseconds; None: the known state is up to date."""
    monitor, quiet_ms = group.monitor, now - group.newest_ts
    if monitor is None:
        return Doubt.QUIET if quiet_ms > LONG_QUIET_MS else None
    if min(quiet_ms, now - monitor.seen_ts) > LONG_QUIET_MS:
        return Doubt.BLIND
    if quiet_ms > SILENT_AFTER_MS:
        return Doubt.SILENT
    return Doubt.EVENTS_LOST if monitor.status == "data_lost" else None
