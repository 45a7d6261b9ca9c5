"""The state of one consumer group, and how it is packed.

The state is packed as MessagePack arrays: things are named once, in lists, and referred to by their index there.
Only ``streaming.core.state.group`` changes these lists. Times are epoch milliseconds.
A change of any class here changes the packed form: ``streaming.core.state.packing`` says what is to be done then.
"""

from msgspec import field

from schemas.events import ANY_QUEUE
from schemas.facts import Kind, Severity
from schemas.identity import is_proxy
from schemas.observed import Observed
from streaming.core.state.queue_state import Packed, PackedValue, Queue

PERM_READ, PERM_WRITE = 4, 2  # org.apache.rocketmq.common.constant.PermName

SEVERITY_CODES: tuple[Severity, ...] = (Severity.NONE, Severity.CRITICAL, Severity.WARNING, Severity.INFO)
FINDING_CODES: tuple[Kind, ...] = (
    Kind.UNKNOWN, Kind.EXCLUDED, Kind.DUPLICATED, Kind.ORPHANED, Kind.STALLED, Kind.SLOW_CONSUMER,
    Kind.CONSUME_DISABLED, Kind.SETTLING, Kind.PHANTOM, Kind.MISPLACED, Kind.MATCH, Kind.NO_MEMBERS,
    Kind.UNPOLLED, Kind.POLLED, Kind.HEAD_BLOCKED,
)  # fmt: skip


class Broker(Packed):
    name: str  # or that of a proxy
    answered_ts: int = 0  # the newest round in which it gave its list of members; 0: none
    changed_ts: int = 0  # when its list last changed; 0: it has never listed a member
    lost_ts: int = 0  # since when it has given no list; 0: it gives one
    returned_ts: int = 0  # when it last gave a list again after a long silence, perhaps restarted; 0: never
    listed: int = 0  # number of entries in its list; a client id that is listed twice counts twice
    list_digest: bytes = b""  # hash of its newest list; empty: compare the list entry by entry
    reports_pull_offsets: bool = False  # brokers before 5.1 know no pull offset (OffsetWrapper.pullOffset)
    list_version: int = 0  # BrokerAnswer.data_version of its newest list; 0: no round can confirm that list
    back_ts: int = 0  # when it last gave a list again after it had given none, be it for one round; 0: never
    gone_ts: int = 0  # since when it had given none by then

    @property
    def is_proxy(self) -> bool:
        """True if it is a proxy: it lists the members that are connected to it, and hosts no topic."""
        return is_proxy(self.name)


class HostedQueues(PackedValue, frozen=True):
    """The queues of a topic on one broker, by a route."""

    broker: int  # index in GroupState.brokers
    read: int  # readQueueNums
    write: int  # writeQueueNums
    perm: int  # the bits of PermName

    @property
    def is_readable(self) -> bool:
        return bool(self.perm & PERM_READ)

    def has(self, broker: int, queue_id: int) -> bool:
        """True if this is the broker and has the queue, be it only for producers."""
        return self.broker == broker and queue_id < max(self.read, self.write)

    def lets_read(self, broker: int, queue_id: int) -> bool:
        """True if this is the broker and lets clients read the queue."""
        return self.broker == broker and queue_id < self.read and self.is_readable


class RouteCopy(Packed):
    """A topic's route as one or more name servers gave it."""

    hosts: list[HostedQueues]  # in the order of the brokers' indices
    seen_ts: int  # when it came last
    name_servers: list[str] = field(default_factory=list)  # those that gave it
    is_given: bool = True  # whether it is in the newest event
    returns: int = 0  # how often it came back after another copy


class RouteCopies(Packed):
    """The different routes of one topic that name servers have given lately, if there are several."""

    given: list[RouteCopy] = field(default_factory=list)  # the newest first, each route once
    differ_ts: int = 0  # since when clients may use different ones; 0: they all use the same
    agreed_ts: int = 0  # when that ended last; 0: it has not


class Redelivered(Packed):
    """Messages of a topic that come back on one broker: how many came into its POP retry topic there lately.

    They are counted in periods of ``consume_stall_ms``: the present one, and the one before.
    """

    began_ts: int  # since when some have come back all the time
    grown_ts: int  # when some were last seen to have come back
    read_ts: int  # when the retry topic was read last
    counted_ts: int  # since when they are counted: what was in flight of clients that have left is not
    period_ts: int  # when the present period began
    before_ts: int = 0  # when the period before began; 0: there was none
    again: int = 0  # messages that came back in the present period
    taken: int = 0  # messages that clients took in the present period, those that came back among them
    again_before: int = 0
    taken_before: int = 0


class Polls(Packed):
    """The polls of the group that wait at one broker for messages of a topic, as its newest answer says.

    Those at any of its queues, or at one.
    """

    broker: int  # index in GroupState.brokers
    read_ts: int = 0  # when it answered
    waiting: int = 0
    polled_ts: int = 0  # when one was last seen to wait; 0: none was
    moved_ts: int = 0  # when an offset of the topic there was last seen to have moved; 0: none was since polls are read
    queue_id: int = ANY_QUEUE
    told_waiting: int = -1  # ``waiting`` by the newest fact of the group; -1: none has said it
    redelivered: Redelivered | None = None  # None: none of its messages has come back lately
    is_closed: bool = False  # the broker lets nobody of the group consume
    in_flight: int = 0  # messages that clients took there and did not acknowledge
    in_flight_ts: int = 0  # when the broker's own metrics said so; 0: they have not


class Topic(Packed):
    name: str
    hosts: list[HostedQueues] = field(default_factory=list)  # every queue that some name server's copy has
    confirmed_ts: int = 0  # when a copy of the route came last; 0: none has come
    changed_ts: int = 0  # when the route last changed, or the topic was new to the group; 0: it has not
    hosts_changed_ts: int = 0  # when the route last gained or lost a broker; 0: it has not
    has_members_since_ts: int = 0  # since when the topic has had members; 0: it has none
    previous_hosts: list[HostedQueues] = field(default_factory=list)  # ``hosts`` before the last change
    is_static: bool = False  # a static topic of RocketMQ 5: its queues are mapped to those of its hosts
    copies: RouteCopies | None = None  # None: name servers have given the same route lately
    all_asked: bool = False  # whether all name servers are asked for the route, or only one of them
    unsubscribed_ts: int = 0  # since when no broker shows a subscription to it; 0: one does, or it is not known
    is_committed: bool = False  # whether some consumer offset has been seen to move
    unreported: int = 0  # TopicEvidence.unreported when its queues' facts were emitted last
    is_unwanted: bool = False  # whether the group does not consume it, as it is configured or as its members intend
    polls: list[Polls] = field(default_factory=list)  # one for each broker or queue; empty: no member pops

    def polls_at(self, broker: int) -> dict[int, Polls]:
        """Those at one broker by queue id, ANY_QUEUE for those at any of its queues."""
        return {one.queue_id: one for one in self.polls if one.broker == broker}


class HeartbeatProfile(PackedValue, frozen=True):
    """The fields of a client's heartbeats; many clients share one. None: brokers do not show it."""

    language: str | None = None  # JAVA, GO, ...
    version: str | None = None  # of RocketMQ's client
    message_model: str | None = None  # CLUSTERING or BROADCASTING
    consume_type: str | None = None  # CONSUME_PASSIVELY (push) or CONSUME_ACTIVELY (pull)
    subscriptions: tuple[tuple[str, str | None], ...] | None = None  # (topic, filter)


class RunningProfile(PackedValue, frozen=True):
    """The settings in a client's report (ConsumerRunningInfo); many clients share one. None: it does not name it."""

    strategy: str | None = None  # class name of its AllocateMessageQueueStrategy
    orderly: bool | None = None
    message_model: str | None = None  # CLUSTERING or BROADCASTING
    client_rebalance: bool | None = None  # False: the broker assigns its queues
    pops: bool = False  # whether it consumes by POP
    subscriptions: tuple[tuple[str, str | None], ...] = ()  # (topic, filter); empty: it does not say
    consume_type: str | None = None  # CONSUME_PASSIVELY (push) or CONSUME_ACTIVELY (pull)


NOTHING_LISTED, NOTHING_RUN = HeartbeatProfile(), RunningProfile()  # of a client of which nothing is known


class Report(Packed):
    """The newest report of one instance under a client id."""

    start_ts: int  # when the instance started, as it says itself; 0: it does not say
    answered_ts: int  # when it answered
    running: int  # index in GroupState.running_profiles
    owned: list[int]  # indices of the queues that it says it owns
    busy: list[int] = field(default_factory=list)  # indices of those of which it holds messages not consumed yet
    data_version: int = 0  # AssignmentReport.data_version; 0: no round can confirm the report
    popped: list[int] | None = None  # indices of the queues that it pops one by one; None: it does not say any, or all
    first_answered_ts: int = 0  # when it answered for the first time; 0: not known


NOT_EMITTED, EMITTED, OUTDATED = 0, 1, 2  # Client.emitted: no fact says that it is a member; one does; one is outdated


class Client(Packed):
    """A client id, and what is known of the instances that run under it."""

    client_id: str
    since_ts: int = 0  # since when it has been a member, or no longer is one; 0: not known
    entries: list[int] = field(default_factory=list)  # how often each broker lists it, by the broker's index
    addresses: list[str] = field(default_factory=list)  # its ip:port by the broker's index, several joined by a blank
    heartbeat: int = -1  # index in GroupState.heartbeat_profiles; -1: no heartbeat is known
    two_addresses_since_ts: int = 0  # since when it has been listed with the same two addresses; 0: it is not
    unanswered_since_ts: int = 0  # since when it has not answered when asked; 0: it answers
    reports: list[Report] = field(default_factory=list)  # one for each instance, the newest answer first
    emitted: int = NOT_EMITTED
    alive: int = 0  # how many of its present connections to one broker have sent heartbeats at the same time, at most
    stopped: int = 0  # how many of those no longer send any

    def note_change(self) -> None:
        """The last member fact no longer holds."""
        if self.emitted == EMITTED:
            self.emitted = OUTDATED


class Alert(Packed):
    """An open alert; it is removed when it is resolved."""

    topic: str  # empty for an alert about the whole group
    kind: str  # schemas.facts.Kind
    phase: str  # streaming.core.alerts.phases.Phase
    severity: str  # schemas.facts.Severity
    active_ts: int  # when it was found
    fired_ts: int = 0  # when it began to fire; 0: it has not
    right_since_ts: int = 0  # since when its queues have looked right; 0: they do not
    seen_ts: int = 0  # when evidence last supported it
    cause: str | None = None  # schemas.facts.Cause; None: it has none
    observed: Observed = field(default_factory=Observed)  # the evidence that its facts show
    queues: list[int] = field(default_factory=list)  # indices of the queues that it is about
    since_ts: int = 0  # since when the first of its queues has had the finding
    clients: list[int] = field(default_factory=list)  # indices of the clients that the cause names
    times: int = 0  # how often it fired and notified people, at most ALERT_RETURNS_WITHIN_MS apart
    told_ts: int = 0  # when its newest fact was emitted
    told_waiting: int = -1  # how many messages wait in its queues by that fact; -1: not known
    kept_open: str = ""  # streaming.core.alerts.phases.AlertReason why it is KEPT_OPEN; empty: it is not
    next_cause: str | None = None  # what has been found instead of ``cause`` since ``next_cause_since_ts``
    next_cause_since_ts: int = 0  # 0: ``cause`` is what was found last
    waits_for: str = ""  # schemas.facts.WaitsFor while it is pending; empty: it fires
    waits_until_ts: int = 0  # until when, as AlertFact.waits_until_ts says it
    deploy_since_ts: int = 0  # since when a rolling deploy goes on that may bring it about; 0: none does


class EndedAlert(Packed):
    """An alert that fired and was resolved lately. It may come back."""

    topic: str
    kind: str
    ended_ts: int  # when it was resolved
    times: int  # Alert.times then


class KeptFinding(Packed):
    """A finding about a topic or the group that held in the last evaluation."""

    topic: str  # empty for one about the whole group
    kind: str  # schemas.facts.Kind
    since_ts: int  # since when it has held


class MembershipChange(PackedValue, frozen=True):
    """A client joined or left the group. It is kept for ``storm_window_ms``."""

    ts: int
    client_id: str
    joined: bool  # False: it left


class FlappingClient(Packed):
    """A client that has left the group, or one broker's list. It is kept until it stays for ``stable_client_ms``."""

    who: str  # its client id, or its host if the id is a new one each time
    since_ts: int  # when it left first
    last_ts: int  # when it left last
    times: int = 1  # how often it has left


class DeployChanges(Packed):
    """Joins and leaves that follow one another, as in a rolling deploy. Each step of a deploy begins with a leave."""

    began_ts: int  # the first of them
    last_ts: int  # the last of them
    longest_ms: int = 0  # the longest time between two of them
    step_ts: int = 0  # when the newest step began; 0: no step has begun
    steps: int = 0  # how many steps there were
    joined: bool = False  # whether a client joined
    left: bool = False  # whether a client left that was a member before ``began_ts``
    mismatched: bool = False  # whether members were found to differ meanwhile
    restarted: list[str] = field(default_factory=list)  # ids of members restarted so quickly that no list lacked them
    ran: RunningProfile | None = None  # what all members ran when it began; None: they differed, or it is not known


class Rebalance(Packed):
    """A rebalance under way. Its fact has the same fields."""

    trigger: str  # join, leave, join and leave, route or not seen
    from_ts: int  # when it began
    last_ts: int  # up to when the two durations are counted
    joined: list[str] = field(default_factory=list)  # client ids
    left: list[str] = field(default_factory=list)  # client ids
    topics: list[str] = field(default_factory=list)  # topics whose route changed
    duplicated_ms: int = 0  # queue-milliseconds with two or more owners
    orphaned_ms: int = 0  # queue-milliseconds without an owner


class Setback(Packed):
    """A queue whose committed offset went back, and has not passed its old height yet."""

    queue: int  # index in GroupState.queues
    height: int  # the offset before
    before_ts: int  # when that was read last
    low: int  # the lowest offset since
    seen_ts: int  # when a lower one than ``height`` was read first
    from_ts: int  # from then on what lies above ``low`` is consumed again: it was the offset by that reading
    is_proven: bool = False  # whether it has been consumed from there for so long that its clients had lost their place
    back_ts: int = 0  # until when its broker gave no list of members in between; 0: no round was without one
    owned_twice: bool = False  # whether two clients had the queue then
    changed_ts: int = 0  # when members joined or left shortly before; 0: none did


class LogEnd(PackedValue, frozen=True):
    """The end of a queue of the revive log, as it was read at ``ts``."""

    ts: int
    offset: int


class Revival(Packed):
    """A queue of the revive log, in the group by which brokers read it."""

    queue: int  # index in GroupState.queues
    end: int  # where it ended when its offset had moved last, or when it was read first
    moved_ts: int = 0  # when its offset was last seen to have moved; 0: it has not been seen to
    grows_since_ts: int = 0  # since when it has been longer than ``end``, and its offset has not moved; 0: it has
    is_stuck: bool = False  # whether more than late acknowledgements must have come meanwhile
    late_since_ts: int = 0  # since when its offset moves on among records that had come long before; 0: it does not
    ends: list[LogEnd] = field(default_factory=list)  # as they were read lately; the oldest first


class HeldEvent(PackedValue, frozen=True):
    """An event ahead of the group's clock. It is kept until the next marker confirms or refutes its time."""

    event: bytes  # as it was encoded
    topic: str | None  # where it was read: Kafka topic, partition and offset, or file and line; None: not known
    partition: int | None
    offset: int | None


class MissingEvents(Packed):
    """A gap in the numbers of a producer's events. The missing events may still come."""

    source: str  # the producer
    first: int  # the first number that is missing
    last: int  # the last number that is missing
    ts: int  # the missing events are no younger than this
    markers: int = 0  # markers taken since the gap was seen


class RoundParts(Packed):
    source: str  # the producer
    ts: int  # time of the round
    first_seq: int  # the smallest number of an event among them
    come: dict[int, bytes] = field(default_factory=dict)  # number of the part -> the encoded event


class ListClaim(PackedValue, frozen=True):
    digest: bytes  # hash of its client ids, in order
    version: int  # BrokerAnswer.data_version; 0: no marker confirms it
    since_ts: int  # BrokerAnswer.listed_since, or, where it does not say, time of its first marker with this list


class MarkerSource(Packed):
    """A producer that has sent markers of the group lately."""

    source: str
    ts: int  # time of its newest marker
    alone: int = 0  # how many of its markers came in a row; the one followed: with none of another producer between
    turns: int = 0  # how often in a row a marker of it was out of step after one of the producer that is followed
    first_gap_ms: int = 0  # by how much the first of these was
    lists: dict[str, ListClaim] = field(default_factory=dict)  # by broker; only while there are several producers


class GroupState(Packed):
    cluster: str
    group: str
    next_seq: int = 0  # number of the next fact
    now: int = 0  # the group's clock: the time of its newest marker; 0: none has come
    interval: int = 0  # ms between the two newest markers, at most ``longest_round_interval_ms``; 0: fewer have come
    round: int = -1  # number of the newest round
    valid_from_ts: int = 0  # evidence up to here does not count: the clock was set back, or the state began with a seed
    evaluation_due_ts: int = 0  # until then, and without news, an evaluation would find the same; 0: evaluate
    consume_enable: bool | None = None  # the subscription group's setting; None: not known
    orderly: bool | None = None  # consumeMessageOrderly of the subscription group; None: not known
    sources: dict[str, int] = field(default_factory=dict)  # producer -> the largest number of its events; newest last
    change_reasons: dict[str, str] = field(default_factory=dict)  # why clients joined or left since the last marker
    markers_behind: list[int] = field(default_factory=list)  # times of markers far behind the clock, in a row
    held_events: list[HeldEvent] = field(default_factory=list)
    brokers: list[Broker] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)  # members, and clients that left lately
    heartbeat_profiles: list[HeartbeatProfile] = field(default_factory=list)
    running_profiles: list[RunningProfile] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    group_findings: list[KeptFinding] = field(default_factory=list)
    membership_changes: list[MembershipChange] = field(default_factory=list)  # oldest first
    rebalance: Rebalance | None = None  # None: none is under way
    is_stable: bool = False  # whether every queue has been right at once since the last rebalance began
    status: str = ""  # what the newest group fact says, as one text: a fact is emitted when it changes
    failed: bool = False  # whether the last evaluation raised an error
    empty_since: int = 0  # when the last member left; 0: there are members, or none is known to have left
    rival_subscriptions: list[tuple[str, ...]] = field(default_factory=list)  # sets of topics that brokers show in turn
    pop_topics: list[str] = field(default_factory=list)  # topics that brokers are set to hand out by POP
    flapping_clients: list[FlappingClient] = field(default_factory=list)
    first_round_ts: int = 0  # time of the first marker: who was listed then had joined before
    ended_alerts: list[EndedAlert] = field(default_factory=list)
    deploy: DeployChanges | None = None  # None: members have not changed lately
    missing_events: list[MissingEvents] = field(default_factory=list)
    lost_events_ts: int = 0  # events that are lost are no younger than this; 0: none is lost
    routes_changed_ts: int = -1  # when a route last changed, by the newest marker; -1: its producer does not say
    round_parts: RoundParts | None = None  # None: no round is incomplete
    refused_since: int = 0  # arrival of the first event refused since a round was taken; 0: none was refused
    status_ts: int = 0  # when the newest group fact was emitted
    evidence_lasts_until_ts: int = 0  # no report or route is too old before; 0: that is not known since the evaluation
    consumed_unlisted_ts: int = 0  # when the group's offset was last seen to move while no broker listed a member
    past_pauses: list[int] = field(default_factory=list)  # ms that it last had no members after runs; newest last
    pause_counts: bool = False  # whether the present time without members follows a run in which it consumed
    told_waiting: int = 0  # how many messages wait for it, or are in flight, by its newest group fact
    marker_sources: list[MarkerSource] = field(default_factory=list)  # the one that the group follows is first
    setbacks: list[Setback] = field(default_factory=list)  # at most one of a queue
    lite: bool = False  # whether it consumes lite topics
    popped_in_part: list[str] = field(default_factory=list)  # of ``pop_topics``: only some of their brokers do so
    revivals: list[Revival] = field(default_factory=list)  # one for each queue of REVIVE_GROUP; other groups have none


def left_the_route(queue: Queue) -> bool:
    """True if its newest fact says that it left the route, at ``since_ts``."""
    return queue.publish_delay_ms < 0 and FINDING_CODES[queue.finding] is Kind.MATCH


def new_state(cluster: str, group: str) -> GroupState:
    return GroupState(cluster, group)
