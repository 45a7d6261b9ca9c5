"""What evenkeel says: the facts, one typed payload each. Tables, pages and explanations are made from them.

A row of the table ``facts`` is ``(identity, shard, seq, fact, cluster, group, topic, ts)`` and one of these payloads.
``seq`` counts the facts of one (cluster, group), so it does not depend on how events were cut into batches.
Fields that end with ``_ts`` are epoch milliseconds, UTC; those that end with ``_ms`` are milliseconds.
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
    SHARED_CLIENT_ID = "SHARED_CLIENT_ID"
    MEMBER_LISTS_DIFFER = "MEMBER_LISTS_DIFFER"
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
    MESSAGE_MODEL_MISMATCH = "MESSAGE_MODEL_MISMATCH"
    RESTART_LOOP = "RESTART_LOOP"
    VIEW_DIVERGENCE = "VIEW_DIVERGENCE"
    ROUTE_LAG = "ROUTE_LAG"
    CLIENT_STALLED = "CLIENT_STALLED"
    MEMBER_GONE = "MEMBER_GONE"
    LOCK_STUCK = "LOCK_STUCK"
    ROOM_WITHOUT_CONSUMER = "ROOM_WITHOUT_CONSUMER"
    CONFIG_MISSES_QUEUE = "CONFIG_MISSES_QUEUE"
    NO_READ_PERM = "NO_READ_PERM"
    READ_LT_WRITE = "READ_LT_WRITE"
    LEFT_ROUTE = "LEFT_ROUTE"
    UNEXPLAINED = "UNEXPLAINED"


class AlertState(Word):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class WaitsFor(Word):
    """What an alert that is pending waits for."""

    TIME = "time"
    DEPLOY = "deploy"


class Payload(Struct, frozen=True, kw_only=True):
    """Base of the payloads; ``fact`` is the name in the facts table's column of that name.

    Defaults are written too: Spark reads the JSON of tens of thousands, and would have to fill in what is left out.
    """

    fact: ClassVar[str]


class Interval(Struct, frozen=True, kw_only=True):
    """The finding of a queue, from ``from_ts`` until ``to_ts``. ``severity`` None: a fact of an older evenkeel."""

    finding: str
    cause: str | None
    owners: tuple[str, ...]
    expected: tuple[str, ...] | None
    from_ts: int
    to_ts: int
    severity: str | None = None


class QueueFact(Payload, frozen=True, kw_only=True):
    """The finding, severity, owners or expected owners of a queue changed. ``ended`` is what they were before.

    ``owners`` are the client ids that report to own the queue (an id twice: two instances). An empty list means that no
    client owns the queue where the finding is ORPHANED or NO_MEMBERS; elsewhere the owners are not known.
    ``expected`` are the client ids that should own it, by the allocate strategy; None: not known. ``since_ts``: since
    when the queue has not been as it should, the time in which it settled included; of what is right or not known since
    when it has been found. ``present`` false: the route no longer has the queue, and no client owns it.
    ``reason`` is the kind of reason, which
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
    """A queue of an alert, as in ``QueueFact``. ``waiting``: messages not consumed, by the broker's offsets, which were
    read at ``read_ts``; None: no offsets are known. ``reason`` and ``reason_details``: why the expected owners are not
    known. Older facts have none of the last three.
    """

    broker_name: str
    queue_id: int
    owners: tuple[str, ...] = ()
    expected: tuple[str, ...] | None = None
    waiting: int | None = None
    read_ts: int | None = None
    reason: str | None = None
    reason_details: ReasonDetails | None = None


class AlertClient(Struct, frozen=True):
    """A client of an alert: an owner or expected owner of its queues, or a client that the cause names.

    From brokers: ``addresses`` (ip:port of its channels), ``brokers`` (those that list it) and ``version``. From its
    report: ``strategy`` (Java class), ``subscriptions`` (topics), ``start_ts`` (one for each instance) and
    ``answered_ts`` (when its newest report came; None: none has come).
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
    """What changed shortly before the alert. ``subject`` is a client id, a topic or a broker's name.

    ``what`` is joined, left, route_changed, broker_lost or broker_returned.
    """

    ts: int
    what: str
    subject: str


class AlertFact(Payload, frozen=True, kw_only=True):
    """An alert changed its state, or the queues, cause or severity of an open alert changed, or how much waits in them.

    ``reason`` says which.

    ``active_ts``: when it became pending; ``fired_ts``: when it began to fire; ``resolved_ts``: when it was resolved.
    ``since_ts``: since when the first of its queues has not been as it should, the earliest ``since_ts`` of its queues.
    ``stale``: evidence that could resolve it is missing. ``clients`` (at most 20) and ``changes`` (at most 10, the
    newest last) are what a page shows. ``waiting``: messages not consumed in its queues, by the brokers' offsets, the
    oldest of which were read at ``read_ts``. The oldest of these messages was stored after ``oldest_ts``. ``observed``
    is the evidence, of ``seen_ts``, when it last supported the alert; ``evidence`` is the same as an English sentence
    in facts of evenkeel 0.1, else empty. ``kept_open``: the reason why it is open though its queues have looked right
    since ``right_since_ts``. ``waits_for``: why it is pending. time: it must last, until ``waits_until_ts`` at least;
    deploy: a rolling deploy may bring it about, and it fires at ``waits_until_ts`` at the latest, if it is found then.
    ``deploy_since_ts``: since when such a deploy has gone on, also if the alert fires. Older facts have none of
    ``read_ts``, ``seen_ts``, ``kept_open``, ``right_since_ts``, ``waits_for``, ``waits_until_ts`` and
    ``deploy_since_ts``.
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
    read_ts: int | None = None
    seen_ts: int | None = None
    kept_open: str | None = None
    right_since_ts: int | None = None
    waits_for: str | None = None
    waits_until_ts: int | None = None
    deploy_since_ts: int | None = None


class MembershipFact(Payload, frozen=True, kw_only=True):
    """One broker's list of members changed by one client: ``change`` is appeared or disappeared.

    ``entries``: how often the broker lists the client id now (2: two channels under one id). ``reason``: registered,
    unregistered, expired or closed, from a producer of events that saw it; None: none did. ``addresses``: ip:port of
    each entry. ``first_seen``: it was in the first list that the broker gave, so it may have joined earlier.
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
    """What is known of a client has changed. ``present`` false: no covered broker lists it any more.

    ``since_ts``: since when it has been a member, or no longer is one. From brokers: ``brokers`` (those that list it),
    ``addresses`` (ip:port), ``language`` and ``version``. From its report: ``strategy`` (Java class), ``orderly``,
    ``subscriptions`` (topics) and ``start_ts``. ``message_model``: from its report, else from brokers. ``instances``:
    processes that use this client id.
    """

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
    """A rebalance has ended: from the first change of members or routes until every queue had its expected owner again.

    ``trigger``: join, leave, join and leave, route, or not seen. ``joined`` and ``left`` are client ids.
    ``queues_moved``: queues that changed owner; ``fewest_moves``: queues that had to, None: not known.
    ``duplicated_ms`` and ``orphaned_ms`` are the milliseconds that queues had two owners or none, summed over queues;
    the second counts only while every member of the topic has reported. ``converged`` false: it lasted too long, or
    evidence was lost.
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


class QueueWaiting(Struct, frozen=True):
    """``waiting``: messages not consumed in the queue, by the broker's offsets."""

    topic: str
    broker_name: str
    queue_id: int
    waiting: int


class GroupFact(Payload, frozen=True, kw_only=True):
    """The status of a group changed, or how many messages wait for it, or it has been the same for an hour.

    ``status`` is healthy, findings, settling, unknown, excluded or empty. ``members`` counts the entries in brokers'
    lists, ``members_reporting`` the clients that have reported their queues, ``counts`` the queues of each finding.
    ``retry_counts``: how many of these are queues of retry topics in which no message waits, so that no alert names
    them; None: an older fact.
    ``refused_since``: epoch milliseconds since when events of the group have been refused and no round of it was taken;
    None: rounds are taken. ``reason`` is the kind of reason why the
    group, or one of its queues, is not judged, and ``reason_details`` explain it; None: all queues are judged. Facts of
    evenkeel 0.1 have an English sentence there. ``waiting``: messages not consumed in all queues of the topics that it
    subscribes to, by the brokers' offsets, the oldest of which were read at ``read_ts``; None: not known, or an older
    fact. ``fullest``: the queues in which the most of them wait, at most 20.
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
    waiting: int | None = None
    read_ts: int | None = None
    fullest: tuple[QueueWaiting, ...] = ()
    retry_counts: dict[str, int] | None = None


class EvaluationFailedFact(Payload, frozen=True, kw_only=True):
    """A fault of evenkeel: the evaluation of the group raised an error. The group is UNKNOWN until one succeeds.

    ``error`` is the error's type and text, ``where`` the function and line.
    """

    fact: ClassVar[str] = "evaluation_failed"
    error: str
    where: str


class EventsLostFact(Payload, frozen=True, kw_only=True):
    """Events of the group were lost: a gap in the ``seq`` of the producer ``source`` that stayed open for two rounds.

    ``expected_seq`` is the first missing number, ``received_seq`` the first number after the gap.
    """

    fact: ClassVar[str] = "events_lost"
    source: str
    expected_seq: int
    received_seq: int


class QuarantineFact(Payload, frozen=True, kw_only=True):
    """A record, or one event of it, that could not be used. ``reason`` is one of a fixed set of words.

    ``bytes``: at most the first 64 KB of the value; ``length`` and ``sha256`` are those of the whole value.
    ``source_topic``, ``source_partition`` and ``source_offset``: where it was read in Kafka, or the file and its line.
    ``events``: how many events it stands for. Of a record, and of a batch, only the first events that are refused have
    a fact each. One more for each reason says how many others there are.
    """

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
    events: int = 1


FAILED = "failed"  # HealthFact.status of the last words of a job that ends with an error


class Contradiction(Struct, frozen=True, omit_defaults=True):
    """Rounds of ``source`` contradict those of ``followed``, by which the group is judged; they are not taken.

    ``ahead_ms``: how far their time is from the group's clock; negative: behind it. Or it is 0, and both say for
    ``both_ms`` that broker ``broker_name`` listed these clients, and others.
    """

    group: str
    followed: str
    source: str
    broker_name: str = ""
    both_ms: int = 0
    ahead_ms: int = 0


class HealthFact(Payload, frozen=True, kw_only=True):
    """How evenkeel itself works, for each cluster about every 15 s. Where none comes, ``monitor_blind`` is paged.

    ``status``: ok, idle (nothing arrived), late, data_lost (Kafka dropped records before they were read), or failed
    (the job ends with the error ``detail``). Numbers of rounds, events, quarantined records and broker answers that
    were missing are since the health fact before, and so is ``events_per_s``. ``groups``: the most groups of which one
    micro-batch had events. ``lag_ms``: the job's clock minus the newest round's time; None: no round has come.
    ``batch_ms``: how long the micro-batch took that ended at ``batch_ended_ts``; ``working_ms``: for how long the next
    one has been made, None: none is. ``state_bytes``: size of the job's state.

    Of Kafka, which is asked every few seconds: ``kafka_ts``: when it last answered, and ``kafka_error``: what came
    instead at the last question. Then ``unread`` records were beyond those that the job is done with, and since
    ``quiet_since_ts`` no record was seen to come. None: not known, not Kafka, or an older fact.

    ``contradicting``: how many rounds were not taken since the health fact before because they contradict those of
    another producer; ``contradiction``: the newest of them.
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
    batch_ended_ts: int | None = None
    working_ms: int | None = None
    kafka_ts: int | None = None
    kafka_error: str | None = None
    unread: int | None = None
    quiet_since_ts: int | None = None
    contradicting: int = 0
    contradiction: Contradiction | None = None


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
