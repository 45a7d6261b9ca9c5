"""The facts, evenkeel's output: one typed payload each. Tables, pages and explanations are made from them.

A row of the table ``facts`` is ``(identity, shard, seq, fact, cluster, group, topic, ts)`` and one of these payloads.
``seq`` counts the facts of one (cluster, group), so it does not depend on how events were cut into batches. Fields that
end with ``_ts`` are epoch milliseconds, UTC; those that end with ``_ms`` are milliseconds. The columns of the tables
are derived from the fields (``schemas/tables.py``): the text of a field is the comment of its column, too.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from schemas.observed import Observed
from schemas.reasons import ReasonDetails
from schemas.table_definition import NO_COLUMN, AsColumn, Form, Part


class Kind(StrEnum):
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
    UNPOLLED = "UNPOLLED"
    HEAD_BLOCKED = "HEAD_BLOCKED"
    POLLED = "POLLED"
    INCONSISTENT_SUBSCRIPTION = "INCONSISTENT_SUBSCRIPTION"
    SHARED_CLIENT_ID = "SHARED_CLIENT_ID"
    MEMBER_LISTS_DIFFER = "MEMBER_LISTS_DIFFER"
    MEMBERS_SPLIT = "MEMBERS_SPLIT"
    UNREADABLE_QUEUES = "UNREADABLE_QUEUES"
    OFFSETS_WENT_BACK = "OFFSETS_WENT_BACK"
    CONSUMED_AGAIN = "CONSUMED_AGAIN"
    REVIVE_STUCK = "REVIVE_STUCK"
    NO_MEMBERS = "NO_MEMBERS"
    REBALANCE_STORM = "REBALANCE_STORM"
    IDLE_MEMBERS = "IDLE_MEMBERS"


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    NONE = "none"


class Cause(StrEnum):
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
    BROKER_REFUSES_GROUP = "BROKER_REFUSES_GROUP"
    BROKER_NOT_REACHED = "BROKER_NOT_REACHED"
    PROXY_AWAY = "PROXY_AWAY"
    NO_READ_PERM = "NO_READ_PERM"
    READ_LT_WRITE = "READ_LT_WRITE"
    LEFT_ROUTE = "LEFT_ROUTE"
    UNEXPLAINED = "UNEXPLAINED"


class AlertState(StrEnum):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class WaitsFor(StrEnum):
    """The condition that a pending alert waits for."""

    TIME = "time"
    DEPLOY = "deploy"


OWNED_BY_NO_CLIENT = (Kind.ORPHANED, Kind.NO_MEMBERS)  # with one of these findings, an empty list of owners is proof

BrokerName = Annotated[str, "RocketMQ broker name; replicas share it"]
QueueId = Annotated[int, "queue id: the queues of a topic on one broker are numbered from 0", AsColumn(type="INT")]
ClientId = Annotated[str, "RocketMQ client id, ip@instance"]
ClientVersion = Annotated[str | None, "RocketMQ version of the client; null: not known"]
StrategyClass = Annotated[str | None, "class name of its allocate strategy; null: it has not reported one"]
FindingOfQueue = Annotated[
    str,
    "EXCLUDED, DUPLICATED, ORPHANED, STALLED, SLOW_CONSUMER, CONSUME_DISABLED, UNKNOWN, SETTLING, PHANTOM, MISPLACED,"
    " MATCH, UNPOLLED, HEAD_BLOCKED, POLLED or NO_MEMBERS",
]
SeverityName = Annotated[str, "critical, warning, info or none"]
CauseOfFinding = Annotated[
    str | None, "cause of the finding: SAME_CLIENT_ID, VIEW_DIVERGENCE, ...; null: the finding needs none"
]
Owners = Annotated[
    tuple[str, ...] | None,
    "client ids that report to own the queue; an id twice means two instances; empty: no client does; null: not known",
    AsColumn("actual_owners"),
]
ExpectedOwners = Annotated[
    tuple[str, ...] | None,
    "client ids that should own the queue, by the allocate strategy; null: not known",
    AsColumn("expected_owners"),
]
Details = Annotated[
    ReasonDetails | None,
    "details of the reason beside its kind: each kind fills in its own fields, all others are null; *_ts: epoch ms,"
    " UTC; null: the kind says it all",
]


class Payload(Struct, frozen=True, kw_only=True):
    """Base of the payloads; ``fact`` is the name in the facts table's column of that name.

    Defaults are written too: otherwise Spark would have to fill them in, in the JSON of tens of thousands of facts.
    """

    fact: ClassVar[str]


def _if_known(owners: tuple[str, ...] | None, finding: str) -> tuple[str, ...] | None:
    """The owners; None if an empty list proves nothing."""
    return owners if owners or finding in OWNED_BY_NO_CLIENT else None


class Interval(Struct, frozen=True, kw_only=True):
    """The finding of a queue from one time to another."""

    finding: FindingOfQueue
    cause: CauseOfFinding
    owners: Owners
    expected: ExpectedOwners
    from_ts: Annotated[int, "start of the interval, inclusive"]
    to_ts: Annotated[int, "end of the interval, exclusive"]
    severity: Annotated[str, "critical, warning, info (of a retry topic: no message waited) or none"]

    def __post_init__(self) -> None:
        force_setattr(self, "owners", _if_known(self.owners, self.finding))


class QueueFact(Payload, frozen=True, kw_only=True):
    """The finding, severity, owners or expected owners of a queue changed."""

    fact: ClassVar[str] = "queue"
    broker_name: BrokerName
    queue_id: QueueId
    finding: FindingOfQueue
    severity: SeverityName
    cause: CauseOfFinding
    reason: Annotated[
        str | None,
        "why the finding is EXCLUDED, UNKNOWN or SETTLING, or why the expected owners are not known: a kind of reason"
        " (docs/findings.md lists them); null: none",
    ]
    owners: Owners
    expected: ExpectedOwners
    since_ts: Annotated[
        int,
        "since when the queue has not been as it should, the time in which it settled included; of what is right or not"
        " known: since when that is found",
    ]
    present: Annotated[bool, "false: the queue is no longer in the topic's route, and no client owns it"] = True
    ended: Annotated[Interval | None, "the finding before, which ended with this one; null: none", NO_COLUMN] = None
    reason_details: Details = None

    def __post_init__(self) -> None:
        if self.present:
            force_setattr(self, "owners", _if_known(self.owners, self.finding))


class AlertQueue(Part, frozen=True):
    """A queue of an alert."""

    broker_name: BrokerName
    queue_id: QueueId
    owners: Owners = ()
    expected: ExpectedOwners = None
    waiting: Annotated[int | None, "number of messages not consumed; null: not known"] = None
    read_ts: Annotated[int | None, "when the offsets behind waiting were read; null: not known"] = None
    reason: Annotated[str | None, "why the expected owners are not known; null: they are", NO_COLUMN] = None
    reason_details: Annotated[ReasonDetails | None, "its details beside its kind", NO_COLUMN] = None


class AlertClient(Part, frozen=True):
    """A client of an alert: an owner or expected owner of its queues, or a client that the cause names."""

    client_id: ClientId
    addresses: Annotated[tuple[str, ...], "ip:port of its channels"] = ()
    brokers: Annotated[tuple[str, ...], "names of the brokers that list it"] = ()
    version: ClientVersion = None
    strategy: StrategyClass = None
    subscriptions: Annotated[tuple[str, ...], "topics that it subscribes to, by its report"] = ()
    start_ts: Annotated[
        tuple[int, ...], "when each instance of it started, by its report", AsColumn("start_times")
    ] = ()
    answered_ts: Annotated[int | None, "when its newest report came; null: none has come"] = None


class AlertChange(Part, frozen=True):
    """A change shortly before an alert."""

    ts: Annotated[int, "when it was seen", AsColumn("change_time")]
    what: Annotated[str, "joined, left, route_changed, broker_lost or broker_returned"]
    subject: Annotated[str, "a client id, a topic or a broker's name"]


class AlertFact(Payload, frozen=True, kw_only=True):
    """An alert changed its state, or an open alert's queues, cause or severity changed, or how much waits in them."""

    fact: ClassVar[str] = "alert"
    fingerprint: Annotated[
        str, "identifies the alert: one for each (cluster, consumer_group, topic, kind), always the same"
    ]
    state: Annotated[str, "pending, firing or resolved"]
    severity: SeverityName
    kind: Annotated[str, "finding that the alert is about, of queues, a topic or the group"]
    cause: Annotated[str | None, "SAME_CLIENT_ID, VIEW_DIVERGENCE, ... or UNEXPLAINED; null: the kind needs none"]
    queues: Annotated[tuple[AlertQueue, ...], "message queues that the alert is about"]
    reason: Annotated[str, "why this row was written: which transition, or what changed"]
    active_ts: Annotated[int, "when the alert became pending"]
    fired_ts: Annotated[int | None, "when the alert began to fire; null: it has not fired"] = None
    resolved_ts: Annotated[int | None, "when the alert was resolved; null: it is open"] = None
    stale: Annotated[bool, "true: evidence that could resolve the alert is missing"] = False
    since_ts: Annotated[int | None, "since when the first of its queues has not been as it should"] = None
    clients: Annotated[
        tuple[AlertClient, ...],
        "clients that the cause names, then owners and expected owners of the queues; at most 20",
    ] = ()
    changes: Annotated[
        tuple[AlertChange, ...], "changes from ten minutes before the alert until the row, the newest last, at most 10"
    ] = ()
    waiting: Annotated[int | None, "number of messages not consumed in its queues; null: not known"] = None
    oldest_ts: Annotated[int | None, "the oldest message not consumed was stored after this; null: not known"] = None
    observed: Annotated[
        Observed | None,
        "evidence of the finding and its cause: one struct for each kind of evidence, most of them null;"
        " docs/findings.md names those of each cause",
    ] = None
    read_ts: Annotated[int | None, "when the oldest of the offsets behind waiting were read; null: not known"] = None
    seen_ts: Annotated[int | None, "when evidence last supported it"] = None
    kept_open: Annotated[
        str | None,
        "the reason why it is open though its queues have looked right since right_since_time; null: they do not",
    ] = None
    right_since_ts: Annotated[int | None, "since when its queues have looked right; null: they do not"] = None
    waits_for: Annotated[
        str | None,
        "why it is pending. time: it must last until waits_until_time at least; deploy: a rolling deploy may bring it"
        " about; null: it is not pending",
    ] = None
    waits_until_ts: Annotated[
        int | None, "of a deploy: it fires at this time at the latest, if it is found then; null: it is not pending"
    ] = None
    deploy_since_ts: Annotated[
        int | None,
        "since when the rolling deploy has gone on for which it waits, or which may be the reason why it fires; null:"
        " none",
    ] = None

    def __post_init__(self) -> None:
        if any(queue.owners == () for queue in self.queues):
            known = [replace(queue, owners=_if_known(queue.owners, self.kind)) for queue in self.queues]
            force_setattr(self, "queues", tuple(known))


class MembershipFact(Payload, frozen=True, kw_only=True):
    """One broker's list of members changed by one client."""

    fact: ClassVar[str] = "membership"
    broker_name: BrokerName
    client_id: ClientId
    change: Annotated[str, "appeared or disappeared"]
    entries: Annotated[int, "number of times that the broker lists the client id now; 2: two channels under one id"]
    reason: Annotated[str | None, "registered, unregistered, expired or closed; null: no producer saw why"] = None
    addresses: Annotated[tuple[str, ...], "ip:port of each entry; empty: not known"] = ()
    first_seen: Annotated[
        bool,
        "true: it was in the first list that the broker gave of the group, so it may have joined earlier",
    ] = False


class MemberFact(Payload, frozen=True, kw_only=True):
    """The known state of a client has changed."""

    fact: ClassVar[str] = "member"
    client_id: ClientId
    present: Annotated[bool, "true: some broker lists it as a member"]
    since_ts: Annotated[int, "since when it has been a member, or no longer is one"]
    brokers: Annotated[tuple[str, ...], "names of the brokers that list it"] = ()
    instances: Annotated[int, "number of processes with this client id; more than 1 is a fault"] = 1
    addresses: Annotated[tuple[str, ...], "ip:port of its channels; empty: not known"] = ()
    language: Annotated[str | None, "JAVA, CPP, GO, ...; null: not known"] = None
    version: ClientVersion = None
    message_model: Annotated[str | None, "CLUSTERING or BROADCASTING; null: not known"] = None
    strategy: StrategyClass = None
    orderly: Annotated[bool | None, "true: it consumes in order and locks its queues; null: not known"] = None
    subscriptions: Annotated[tuple[str, ...], "topics that it subscribes to, by its report"] = ()
    start_ts: Annotated[int | None, "when it started, by its report; null: not known"] = None


class RebalanceFact(Payload, frozen=True, kw_only=True):
    """A rebalance has ended: it began with the first change of members or routes, and lasted until every queue had its
    expected owner again.
    """

    fact: ClassVar[str] = "rebalance"
    trigger: Annotated[str, "cause of its beginning: join, leave, join and leave, route, or not seen"]
    joined: Annotated[tuple[str, ...], "client ids that joined", AsColumn("members_joined")]
    left: Annotated[tuple[str, ...], "client ids that left", AsColumn("members_left")]
    topics: Annotated[tuple[str, ...], "topics with queues that changed owner or whose route changed"]
    from_ts: Annotated[int, "when the first change was seen"]
    to_ts: Annotated[int, "when it converged, or when evenkeel gave it up"]
    converged: Annotated[
        bool,
        "true: every queue had its expected owner again; false: it lasted too long and was given up, or evidence was"
        " lost",
    ]
    queues_moved: Annotated[int, "number of queues that changed owner"]
    fewest_moves: Annotated[int | None, "number of queues that had to change owner at least; null: not known"]
    duplicated_ms: Annotated[int, "time in which queues had two or more owners, summed over queues, in milliseconds"]
    orphaned_ms: Annotated[
        int, "time in which queues had no owner by the reports of all members, summed over queues, in milliseconds"
    ]


class QueueWaiting(Part, frozen=True):
    """A queue in which messages wait."""

    topic: Annotated[str, "RocketMQ topic"]
    broker_name: BrokerName
    queue_id: Annotated[int, "queue id"]
    waiting: Annotated[int, "number of messages not consumed, by the broker's offsets"]


class BrokerPolls(Part, frozen=True):
    """The polls of a group that wait at one broker for messages of a topic."""

    topic: Annotated[str, "RocketMQ topic"]
    broker_name: BrokerName
    queues: Annotated[int, "number of its queues there that clients can read, by the route"]
    waiting: Annotated[int, "number of polls that waited for messages: none waits while there are some"]
    read_ts: Annotated[int, "when the broker gave that number"]
    polled_ts: Annotated[int | None, "when a poll was last seen to wait; null: none was"] = None
    taken_ts: Annotated[int | None, "when messages were last seen to be taken; null: none were"] = None
    ready: Annotated[
        int | None,
        "number of messages that no client has taken; of a FIFO group those that are not acknowledged are among them;"
        " null: not known",
    ] = None
    ready_ts: Annotated[int | None, "when the oldest of the offsets behind ready were read; null: not known"] = None
    poppers: Annotated[
        tuple[str, ...] | None,
        "ids of the first 20 clients that pop there, by their reports; null: not known, or gRPC clients, which report"
        " nothing, and of which each may pop there",
    ] = None
    closed: Annotated[
        bool | None,
        "true: the broker lets nobody of the group consume, by its groups at read_ts; so it was not asked, and waiting"
        " is 0; null: it lets them",
    ] = None


class GroupFact(Payload, frozen=True, kw_only=True):
    """The status of a group, its waiting messages or polls changed, or an hour has passed without a change."""

    fact: ClassVar[str] = "group"
    status: Annotated[str, "healthy, findings, settling, unknown, excluded or empty"]
    members: Annotated[int, "number of members: of the entries in brokers' lists"]
    queues: Annotated[int, "number of message queues of the group's topics"]
    counts: Annotated[
        dict[str, int],
        "finding -> number of queues with it; findings of a topic or the group: how often they are found",
        AsColumn("finding_counts"),
    ]
    brokers_covered: Annotated[int, "number of brokers that answered lately"]
    brokers_known: Annotated[int, "number of brokers known"]
    members_reporting: Annotated[int, "number of members of which every instance has reported its queues"]
    reason: Annotated[
        str | None,
        "why the group, or one of its queues, is not judged: a kind of reason (docs/findings.md lists them); null: all"
        " are judged",
    ] = None
    refused_since: Annotated[
        int | None,
        "epoch ms since when events of the group have been refused and no round of it was taken; null: rounds are"
        " taken",
        NO_COLUMN,
    ] = None
    reason_details: Details = None
    waiting: Annotated[
        int | None,
        "number of messages not consumed in all queues of the topics that the group subscribes to; null: not known",
    ] = None
    read_ts: Annotated[int | None, "when the oldest of the offsets behind waiting were read; null: not known"] = None
    fullest: Annotated[
        tuple[QueueWaiting, ...], "the queues in which the most messages wait, at most 20", AsColumn("fullest_queues")
    ] = ()
    retry_counts: Annotated[
        dict[str, int] | None,
        "finding -> how many of these are queues of retry topics in which no message waits, so that no alert names"
        " them; null: its events are refused, or its evaluation has failed",
    ] = None
    polls: Annotated[
        tuple[BrokerPolls, ...],
        "where its clients poll, if they own no queue: at most 200 brokers of topics; empty: brokers have not said",
    ] = ()
    fifo: Annotated[
        bool | None,
        "of a group that consumes by POP, true: waiting has the messages in flight too, since its offsets move when"
        " messages are acknowledged; false: they move when messages are given out; null: no POP was seen",
    ] = None
    in_flight: Annotated[
        int | None,
        "number of messages that clients have taken by POP and not acknowledged, with those whose invisible time has"
        " run out, until they are given out again; null: not known, or no POP",
    ] = None
    in_flight_ts: Annotated[int | None, "when the oldest of the numbers behind in_flight was read; null: none was"] = (
        None
    )
    oldest_ts: Annotated[
        int | None,
        "of a group that consumes by POP: the oldest message of waiting was stored after this; null: not known, no"
        " message waits for long, or no POP",
    ] = None


class EvaluationFailedFact(Payload, frozen=True, kw_only=True):
    """A fault of evenkeel: the evaluation of the group raised an error. The group is UNKNOWN until one succeeds."""

    fact: ClassVar[str] = "evaluation_failed"
    error: Annotated[str, "evaluation_failed: type and text of the error; else null"]
    where: Annotated[str, "evaluation_failed: function and line in the code; else null", AsColumn("place")]


class EventsLostFact(Payload, frozen=True, kw_only=True):
    """Events of the group were lost: a gap in the ``seq`` of a producer that stayed open for two rounds."""

    fact: ClassVar[str] = "events_lost"
    source: Annotated[str, "events_lost: producer whose events are missing; else null"]
    expected_seq: Annotated[int, "the first missing number", NO_COLUMN]
    received_seq: Annotated[int, "the first number after the gap", NO_COLUMN]


class QuarantineFact(Payload, frozen=True, kw_only=True):
    """A record, or one event of it, that could not be used.

    Only the first refused events of a record, and of a batch, have a fact each. One more fact for each reason counts
    the others.
    """

    fact: ClassVar[str] = "quarantine"
    reason: Annotated[str, "one of a fixed set of words: bad_json, bad_field, too_long, key_mismatch, absurd_time, ..."]
    detail: Annotated[str, "fault of the record, and its place"]
    length: Annotated[int, "length of the whole value, in bytes"]
    sha256: Annotated[str, "SHA-256 of the whole value, in hex"]
    record_key: Annotated[
        bytes | None,
        "key of the record as text; bytes that are not UTF-8 are replaced",
        AsColumn(type="STRING", form=Form.TEXT),
    ]
    bytes: Annotated[bytes | None, "the first 64 KB of the value; null: the record had none", AsColumn("value")]
    source_topic: Annotated[str | None, "Kafka topic, or name of the file"]
    source_partition: Annotated[int | None, "Kafka partition; null in files", AsColumn(type="INT")]
    source_offset: Annotated[int | None, "Kafka offset; in files: seq of the line"]
    events: Annotated[
        int,
        "number of refused events that the row stands for: more than 1 where the others of a record or batch are only"
        " counted, and the row is an example of them; null: 1",
    ] = 1


FAILED = "failed"  # HealthFact.status in the last fact of a job that ends with an error


class Contradiction(Struct, frozen=True, omit_defaults=True):
    """Rounds of ``source`` contradict those of ``followed``, by which the group is judged; they are not taken.

    ``ahead_ms``: the time by which they are ahead of the group's clock; negative: behind it. If it is 0, both have
    reported for ``both_ms`` that broker ``broker_name`` listed these clients, and others.
    """

    group: str
    followed: str
    source: str
    broker_name: str = ""
    both_ms: int = 0
    ahead_ms: int = 0


class HealthFact(Payload, frozen=True, kw_only=True):
    """The health of evenkeel, for each cluster about every 15 s. If none comes, ``monitor_blind`` is paged.

    Kafka is asked every few seconds.
    """

    fact: ClassVar[str] = "health"
    status: Annotated[
        str,
        "ok, idle (nothing arrived), late, data_lost (Kafka dropped unread records) or failed (the job ended with an"
        " error)",
    ]
    batch_id: Annotated[int, "number of the detection job's micro-batch"]
    groups: Annotated[
        int, "the most groups of which one micro-batch had events since the row before", AsColumn("consumer_groups")
    ]
    rounds: Annotated[int, "number of collection rounds read since the row before"]
    events: Annotated[int, "number of events read since the row before"]
    quarantined: Annotated[int, "number of records quarantined since the row before"]
    brokers_unanswered: Annotated[int, "number of broker answers that were missing in those rounds"]
    lag_ms: Annotated[
        int | None, "age of the newest round by the job's clock, in milliseconds; null: no round has come"
    ]
    events_per_s: Annotated[float, "events read per second since the row before"]
    batch_ms: Annotated[int, "duration of the newest micro-batch that has ended, in milliseconds"]
    state_bytes: Annotated[int, "size of the job's state, in bytes"]
    records_lost: Annotated[int, "number of records that Kafka dropped before they were read"] = 0
    detail: Annotated[str | None, "further explanation of the status; null: none"] = None
    batch_ended_ts: Annotated[int | None, "when the newest micro-batch ended; null: none has since the job started"] = (
        None
    )
    working_ms: Annotated[
        int | None, "time that the next micro-batch has taken so far, in milliseconds; null: none is made"
    ] = None
    kafka_ts: Annotated[int | None, "when Kafka last said where its topic ends; null: it has not"] = None
    kafka_error: Annotated[str | None, "why it did not when it was asked last; null: it did"] = None
    unread: Annotated[
        int | None, "number of records in Kafka beyond those that the job is done with; null: not known"
    ] = None
    quiet_since_ts: Annotated[int | None, "since when no record was seen to come to Kafka; null: not known"] = None
    contradicting: Annotated[
        int, "number of rounds refused since the row before because they contradict those of another producer"
    ] = 0
    contradiction: Annotated[Contradiction | None, "the newest of these rounds; null: none", NO_COLUMN] = None


PAYLOADS = tuple(Payload.__subclasses__())  # in the order of this file, which is that of their columns


def payload_column(payload: type[Payload]) -> str:
    """The column of the facts table for this payload."""
    return "group_status" if payload is GroupFact else payload.fact


class Fact(Struct, frozen=True, gc=False):
    """A fact of a group, in the group's own order."""

    seq: int
    cluster: str
    group: str
    topic: str | None
    ts: int
    payload: Payload
