"""What is remembered of one consumer group, and how it is packed.

The state is packed as MessagePack arrays: things are named once, in lists, and referred to by their index there.
Only ``streaming.core.state.group`` changes these lists. Times are epoch milliseconds.
A change of any class here changes the packed form: ``streaming.core.state.packing`` says what is to be done then.
"""

from msgspec import field

from schemas.facts import Kind, Severity
from schemas.observed import Observed
from streaming.core.state.queue_state import Packed, PackedValue, Queue

PERM_READ = 4  # org.apache.rocketmq.common.constant.PermName.PERM_READ

SEVERITY_CODES: tuple[Severity, ...] = (Severity.NONE, Severity.CRITICAL, Severity.WARNING, Severity.INFO)
FINDING_CODES: tuple[Kind, ...] = (
    Kind.UNKNOWN,
    Kind.EXCLUDED,
    Kind.DUPLICATED,
    Kind.ORPHANED,
    Kind.STALLED,
    Kind.SLOW_CONSUMER,
    Kind.CONSUME_DISABLED,
    Kind.SETTLING,
    Kind.PHANTOM,
    Kind.MISPLACED,
    Kind.MATCH,
    Kind.NO_MEMBERS,
)


class Broker(Packed):
    """A broker as the rounds saw it. ``lost_ts``: since when it has not answered, 0 while it does."""

    name: str
    answered_ts: int = 0
    changed_ts: int = 0  # when its list last changed
    lost_ts: int = 0
    returned_ts: int = 0
    listed: int = 0  # entries in its list
    list_digest: bytes = b""  # of the list as it last came
    reports_pull_offsets: bool = False  # brokers before 5.1 know no pull offset (OffsetWrapper.pullOffset)


class HostedQueues(PackedValue, frozen=True):
    """A topic's queues on the broker at place ``broker``."""

    broker: int
    read: int
    write: int
    perm: int

    @property
    def is_readable(self) -> bool:
        """Whether the broker lets clients read the topic."""
        return bool(self.perm & PERM_READ)


class RouteCopy(Packed):
    """A route as some name server gave it at ``seen_ts``. ``returns``: how often it came back after another."""

    hosts: list[HostedQueues]
    seen_ts: int
    name_servers: list[str] = field(default_factory=list)
    is_given: bool = True  # in the newest event
    returns: int = 0


class RouteCopies(Packed):
    """The routes of one topic that were given lately, where there were several, each at most once."""

    given: list[RouteCopy] = field(default_factory=list)
    differ_ts: int = 0  # since when several stand side by side, 0: they do not
    agreed_ts: int = 0  # when they last ceased to


class Topic(Packed):
    """A topic's route: every queue that some name server has. ``confirmed_ts``: when a copy last came; 0: none has."""

    name: str
    hosts: list[HostedQueues] = field(default_factory=list)
    confirmed_ts: int = 0
    changed_ts: int = 0
    hosts_changed_ts: int = 0  # when a broker was added or removed
    has_members_since_ts: int = 0  # since when the topic has had members; 0: it has none
    previous_hosts: list[HostedQueues] = field(default_factory=list)
    is_static: bool = False  # its queues are only mapped to its hosts
    copies: RouteCopies | None = None
    all_asked: bool = False  # whether all name servers are asked for it, and not one of several
    unsubscribed_ts: int = 0  # since when no broker shows it among the group's subscriptions, 0: one does, or not known
    is_committed: bool = False  # since it has members, the group's offset in some queue has been seen to move
    unreported: int = 0  # as it was when its queues were last told: members that do not say what they own; -1: no model


class HeartbeatProfile(PackedValue, frozen=True):
    """What heartbeats say of a client; many clients share one."""

    language: str | None = None
    version: str | None = None
    message_model: str | None = None
    consume_type: str | None = None
    subscriptions: tuple[tuple[str, str | None], ...] | None = None


class RunningProfile(PackedValue, frozen=True):
    """What reports say of a client; many clients share one."""

    strategy: str | None = None
    orderly: bool | None = None
    message_model: str | None = None
    client_rebalance: bool | None = None
    pops: bool = False
    subscriptions: tuple[tuple[str, str | None], ...] = ()
    consume_type: str | None = None


class Report(Packed):
    """What one instance said it owned at ``answered_ts``: indices of queues; ``busy`` those with messages in hand."""

    start_ts: int
    answered_ts: int
    running: int
    owned: list[int]
    busy: list[int] = field(default_factory=list)


NOT_EMITTED, EMITTED, OUTDATED = 0, 1, 2  # whether a client's member fact has been told, and still holds


class Client(Packed):
    """A client id. ``entries``: how often each broker lists it, by the broker's place."""

    client_id: str
    since_ts: int = 0  # since when it has been a member, or no longer is one
    entries: list[int] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)  # by the broker's place, several joined by a blank
    heartbeat: int = -1
    two_addresses_since_ts: int = 0  # since when the same two addresses have been listed, 0: not
    unanswered_since_ts: int = 0  # since when it has been asked in vain, 0: it answers
    reports: list[Report] = field(default_factory=list)  # one an instance, newest answer first
    emitted: int = NOT_EMITTED

    def note_change(self) -> None:
        """The last member fact no longer holds."""
        if self.emitted == EMITTED:
            self.emitted = OUTDATED


class Alert(Packed):
    """An open alert; it is removed when it resolves. ``topic`` is "" for one about the whole group."""

    topic: str
    kind: str
    phase: str  # streaming.core.alerts.phases.Phase
    severity: str
    active_ts: int
    fired_ts: int = 0
    right_since_ts: int = 0  # since when it has looked right, 0: it does not
    seen_ts: int = 0  # when evidence last supported it
    cause: str | None = None
    observed: Observed = field(default_factory=Observed)
    queues: list[int] = field(default_factory=list)
    since_ts: int = 0  # since when the first of its queues has been so
    clients: list[int] = field(default_factory=list)  # those that the cause names
    times: int = 0  # how often it has fired, again and again within the hour after it was over


class EndedAlert(Packed):
    """An alert that was over lately, having fired: it may come back. ``times``: as often as it had fired by then."""

    topic: str
    kind: str
    ended_ts: int
    times: int


class KeptFinding(Packed):
    """A finding about a topic or the group that holds since ``since_ts``."""

    topic: str
    kind: str
    since_ts: int


class MembershipChange(PackedValue, frozen=True):
    """A client joined (``joined``) or left the group at ``ts``; kept for the length of the storm window."""

    ts: int
    client_id: str
    joined: bool


class FlappingClient(Packed):
    """One that left ``times`` times from ``since_ts`` to ``last_ts``, never at rest for long."""

    who: str
    since_ts: int
    last_ts: int
    times: int = 1


class DeployChanges(Packed):
    """Joins and leaves that follow one another, as in a rolling deploy. A step of it begins with a leave."""

    began_ts: int
    last_ts: int
    longest_ms: int = 0  # between two changes
    step_ts: int = 0
    steps: int = 0
    joined: bool = False  # somebody joined
    left: bool = False  # somebody left who had been there before it began
    mismatched: bool = False  # members were found to differ meanwhile


class Rebalance(Packed):
    """A rebalance under way."""

    trigger: str
    from_ts: int
    last_ts: int
    joined: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    duplicated_ms: int = 0
    orphaned_ms: int = 0


class HeldEvent(PackedValue, frozen=True):
    """An event ahead of the group's clock, kept until the clock confirms or refutes it."""

    event: bytes
    topic: str | None
    partition: int | None
    offset: int | None


class MissingEvents(Packed):
    """Numbers of a producer that have not come, from ``first`` to ``last``. What is lost is no younger than ``ts``."""

    source: str
    first: int
    last: int
    ts: int
    markers: int = 0  # accepted since the gap was seen


class RoundParts(Packed):
    """The parts of a round that have come so far, by their numbers."""

    source: str
    ts: int
    first_seq: int
    come: dict[int, bytes] = field(default_factory=dict)


class GroupState(Packed):
    """All of it. ``evaluation_due_ts``: until then, and without news, evaluating again would find the same."""

    cluster: str
    group: str
    next_seq: int = 0
    now: int = 0
    interval: int = 0
    round: int = -1
    valid_from_ts: int = 0  # evidence up to here does not count: the clock was set back, or the state began with a seed
    evaluation_due_ts: int = 0
    consume_enable: bool | None = None
    orderly: bool | None = None
    sources: dict[str, int] = field(default_factory=dict)
    change_reasons: dict[str, str] = field(default_factory=dict)  # why a client joined or left, where a producer saw it
    markers_behind: list[int] = field(default_factory=list)
    held_events: list[HeldEvent] = field(default_factory=list)
    brokers: list[Broker] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    heartbeat_profiles: list[HeartbeatProfile] = field(default_factory=list)
    running_profiles: list[RunningProfile] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    group_findings: list[KeptFinding] = field(default_factory=list)
    membership_changes: list[MembershipChange] = field(default_factory=list)
    rebalance: Rebalance | None = None
    is_stable: bool = False  # since the last rebalance, every queue has been right at least once
    status: str = ""
    failed: bool = False
    empty_since: int = 0
    rival_subscriptions: list[tuple[str, ...]] = field(default_factory=list)  # sets of topics that took turns
    pop_topics: list[str] = field(default_factory=list)
    flapping_clients: list[FlappingClient] = field(default_factory=list)
    first_round_ts: int = 0  # the first marker: who was listed then had joined before
    ended_alerts: list[EndedAlert] = field(default_factory=list)
    deploy: DeployChanges | None = None
    missing_events: list[MissingEvents] = field(default_factory=list)
    lost_events_ts: int = 0  # what was lost in the newest loss of events is no younger
    routes_changed_ts: int = -1  # as the newest marker says; -1: its producer does not tell what has changed
    round_parts: RoundParts | None = None
    refused_since: int = 0  # when the first record was refused since a round was taken, by its arrival; 0: none was
    status_ts: int = 0  # when the group's status was told last


def new_state(cluster: str, group: str) -> GroupState:
    return GroupState(cluster, group)
