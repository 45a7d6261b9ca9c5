"""What evenkeel says: the facts, one typed payload each. Everything a person reads later is made from them.

A fact row is ``(identity, shard, seq, fact, cluster, group, topic, ts)`` and one of these payloads.
``seq`` counts the facts of one (cluster, group), so it does not depend on how events were cut into batches.
Times are epoch milliseconds, UTC.
"""

from typing import ClassVar

from msgspec import Struct

from schemas.observed import Observed
from schemas.reasons import ReasonDetails
from schemas.word import Word


class Kind(Word):
    """Findings of a queue, in the order in which they are decided, then those of a topic or group."""

    EXCLUDED = "EXCLUDED"
    DUPLICATED = "DUPLICATED"
    ORPHANED = "ORPHANED"
    STALLED = "STALLED"
    SLOW_CONSUMER = "SLOW_CONSUMER"
    CONSUME_DISABLED = "CONSUME_DISABLED"
    UNKNOWN = "UNKNOWN"
    SETTLING = "SETTLING"
    PHANTOM = "PHANTOM"
    MISPLACED = "MISPLACED"
    MATCH = "MATCH"
    INCONSISTENT_SUBSCRIPTION = "INCONSISTENT_SUBSCRIPTION"
    UNREADABLE_QUEUES = "UNREADABLE_QUEUES"
    NO_MEMBERS = "NO_MEMBERS"
    REBALANCE_STORM = "REBALANCE_STORM"
    IDLE_MEMBERS = "IDLE_MEMBERS"


class Severity(Word):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    NONE = "none"


class Cause(Word):
    SAME_CLIENT_ID = "SAME_CLIENT_ID"
    STALE_CONNECTION = "STALE_CONNECTION"
    SUBSCRIPTION_MISMATCH = "SUBSCRIPTION_MISMATCH"
    STRATEGY_MISMATCH = "STRATEGY_MISMATCH"
    VIEW_DIVERGENCE = "VIEW_DIVERGENCE"
    ROUTE_LAG = "ROUTE_LAG"
    CLIENT_STALLED = "CLIENT_STALLED"
    MEMBER_GONE = "MEMBER_GONE"
    LOCK_STUCK = "LOCK_STUCK"
    ROOM_WITHOUT_CONSUMER = "ROOM_WITHOUT_CONSUMER"
    CONFIG_MISSES_QUEUE = "CONFIG_MISSES_QUEUE"
    NO_READ_PERM = "NO_READ_PERM"
    READ_LT_WRITE = "READ_LT_WRITE"
    UNEXPLAINED = "UNEXPLAINED"


class AlertState(Word):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Payload(Struct, frozen=True, kw_only=True):
    """Base of the payloads; ``fact`` is the name in the facts table's column of that name.

    Defaults are written too: Spark reads the JSON of tens of thousands, and would have to fill in what is left out.
    """

    fact: ClassVar[str]


class Interval(Struct, frozen=True, kw_only=True):
    """What was found of a queue from one moment to another. ``severity`` None: told by an older evenkeel."""

    finding: str
    cause: str | None
    owners: tuple[str, ...]
    expected: tuple[str, ...] | None
    from_ts: int
    to_ts: int
    severity: str | None = None


class QueueFact(Payload, frozen=True, kw_only=True):
    """A queue's finding, severity, owners or expected owners changed. ``ended`` is what held before.

    ``owners`` are client ids (an id twice: two instances); ``expected`` is None where it is not known. That ``owners``
    is empty means that nobody owns the queue only where it is ORPHANED or NO_MEMBERS, else that owners are not known.
    ``present`` false: the queue is gone from the route and nobody holds it. ``reason`` is the kind of reason, which
    ``reason_details`` explain: why the finding is EXCLUDED, UNKNOWN or SETTLING, or the expected owners are not known.
    Facts of evenkeel 0.1 have an English sentence there.
    """

    fact: ClassVar[str] = "queue"
    broker_name: str
    queue_id: int
    finding: str
    severity: str
    cause: str | None
    reason: str | None
    owners: tuple[str, ...]
    expected: tuple[str, ...] | None
    since_ts: int
    present: bool = True
    ended: Interval | None = None
    reason_details: ReasonDetails | None = None


class AlertQueue(Struct, frozen=True):
    """``waiting``: messages not yet consumed, None where no offsets are known."""

    broker_name: str
    queue_id: int
    owners: tuple[str, ...] = ()
    expected: tuple[str, ...] | None = None
    waiting: int | None = None


class AlertClient(Struct, frozen=True):
    """A client that an alert is about: an owner, an expected owner, or one that the cause names.

    ``addresses`` are ip:port of its channels, ``brokers`` those that list it, ``start_ts`` one an instance.
    """

    client_id: str
    addresses: tuple[str, ...] = ()
    brokers: tuple[str, ...] = ()
    version: str | None = None
    strategy: str | None = None
    subscriptions: tuple[str, ...] = ()
    start_ts: tuple[int, ...] = ()
    answered_ts: int | None = None


class AlertChange(Struct, frozen=True):
    """What changed shortly before: ``subject`` is a client id, a topic or a broker's name."""

    ts: int
    what: str
    subject: str


class AlertFact(Payload, frozen=True, kw_only=True):
    """An alert changed state, or its queues or cause changed while it was open (``reason`` says which).

    ``since_ts``: since when the first of its queues has been so. ``clients`` and ``changes`` (newest last) are cut to
    what a person reads. ``waiting``: messages not consumed; the oldest of them came after ``oldest_ts``.
    ``observed`` is what shows that the alert is right; ``evidence`` is the same in English, in facts of versions up to
    0.1, and empty since.
    """

    fact: ClassVar[str] = "alert"
    fingerprint: str
    state: str
    severity: str
    kind: str
    cause: str | None
    evidence: str = ""
    queues: tuple[AlertQueue, ...]
    reason: str
    active_ts: int
    fired_ts: int | None = None
    resolved_ts: int | None = None
    stale: bool = False
    since_ts: int | None = None
    clients: tuple[AlertClient, ...] = ()
    changes: tuple[AlertChange, ...] = ()
    waiting: int | None = None
    oldest_ts: int | None = None
    observed: Observed | None = None


class MembershipFact(Payload, frozen=True, kw_only=True):
    """A client appeared in or disappeared from one broker's list; ``entries`` is how often it is listed now.

    ``first_seen``: it stood in the first list that the broker gave, so when it came is not known.
    """

    fact: ClassVar[str] = "membership"
    broker_name: str
    client_id: str
    change: str
    entries: int
    reason: str | None = None
    addresses: tuple[str, ...] = ()
    first_seen: bool = False


class MemberFact(Payload, frozen=True, kw_only=True):
    """What is known of a member now; ``present`` false: no covered broker lists it any more."""

    fact: ClassVar[str] = "member"
    client_id: str
    present: bool
    since_ts: int
    brokers: tuple[str, ...] = ()
    instances: int = 1
    addresses: tuple[str, ...] = ()
    language: str | None = None
    version: str | None = None
    message_model: str | None = None
    strategy: str | None = None
    orderly: bool | None = None
    subscriptions: tuple[str, ...] = ()
    start_ts: int | None = None


class RebalanceFact(Payload, frozen=True, kw_only=True):
    """One episode from the first change to the moment when every queue had its expected owner again.

    ``queues_moved`` is how many changed owner, ``fewest_moves`` how many had to; the two durations are sums
    over queues, in queue-milliseconds: ``orphaned_ms`` counts only while every member of the topic has said what it
    owns. ``converged`` false: it was given up (evidence lost, or it never ended).
    """

    fact: ClassVar[str] = "rebalance"
    trigger: str
    joined: tuple[str, ...]
    left: tuple[str, ...]
    topics: tuple[str, ...]
    from_ts: int
    to_ts: int
    converged: bool
    queues_moved: int
    fewest_moves: int | None
    duplicated_ms: int
    orphaned_ms: int


class GroupFact(Payload, frozen=True, kw_only=True):
    """The group's state changed, or an hour has gone by in which it did not.

    ``status`` is healthy, findings, settling, unknown, excluded or empty. ``refused_since``: since when events of the
    group have been refused and no round of it was taken; None: they are taken. ``reason`` is the kind of reason why the
    group, or one of its queues, is not judged, and ``reason_details`` explain it; None: all queues are judged. Facts of
    evenkeel 0.1 have an English sentence there.
    """

    fact: ClassVar[str] = "group"
    status: str
    members: int
    queues: int
    counts: dict[str, int]
    brokers_covered: int
    brokers_known: int
    members_reporting: int
    reason: str | None = None
    refused_since: int | None = None
    reason_details: ReasonDetails | None = None


class EvaluationFailedFact(Payload, frozen=True, kw_only=True):
    """evenkeel's own fault: evaluating the group raised; the group is UNKNOWN until it succeeds again."""

    fact: ClassVar[str] = "evaluation_failed"
    error: str
    where: str


class EventsLostFact(Payload, frozen=True, kw_only=True):
    """Events of the group were lost on the way: a gap in a producer's ``seq`` that stayed open for two rounds."""

    fact: ClassVar[str] = "events_lost"
    source: str
    expected_seq: int
    received_seq: int


class QuarantineFact(Payload, frozen=True, kw_only=True):
    """A record that could not be used. ``bytes`` holds at most the first 64 KB; ``length`` is the whole."""

    fact: ClassVar[str] = "quarantine"
    reason: str
    detail: str
    length: int
    sha256: str
    record_key: bytes | None
    bytes: bytes | None
    source_topic: str | None
    source_partition: int | None
    source_offset: int | None


class HealthFact(Payload, frozen=True, kw_only=True):
    """How the monitor itself is doing, per cluster, every 15 s; its absence is what ``monitor_blind`` goes by.

    ``status``: ok, idle (nothing arrived), late, or data_lost (Kafka dropped records before they were read).
    ``lag_ms``: the job's time less the newest round's. Rates are per second since the health fact before.
    """

    fact: ClassVar[str] = "health"
    status: str
    batch_id: int
    groups: int
    rounds: int
    events: int
    quarantined: int
    brokers_unanswered: int
    lag_ms: int | None
    events_per_s: float
    batch_ms: int
    state_bytes: int
    records_lost: int = 0
    detail: str | None = None


PAYLOADS: tuple[type[Payload], ...] = (
    QueueFact,
    AlertFact,
    MembershipFact,
    MemberFact,
    RebalanceFact,
    GroupFact,
    EvaluationFailedFact,
    EventsLostFact,
    QuarantineFact,
    HealthFact,
)


class Fact(Struct, frozen=True, gc=False):
    """A fact of a group, in the group's own order."""

    seq: int
    cluster: str
    group: str
    topic: str | None
    ts: int
    payload: Payload
