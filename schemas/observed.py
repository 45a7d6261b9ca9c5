"""The evidence for a finding and its cause: one struct for each kind of evidence.

The detector fills these in and writes no sentences; ``streaming.notices`` makes sentences of them, in English and
Chinese. An alert has one :class:`Observed`, in which every kind of evidence has a field and most fields are null. SQL
reads ``observed.member_gone.clients.client_ids``. Durations are milliseconds, as of the fact's ``seen_ts``.
"""

from collections.abc import Iterable
from functools import cache
from typing import get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

CLIENTS_AT_MOST = 20
MOST_MESSAGES = 2**63 - 1


class Part(Struct, frozen=True, kw_only=True):
    """Base of the kinds of evidence."""


class Clients(Struct, frozen=True):
    """Some clients in order of their ids: the first of them, at most 20, and their number."""

    client_ids: tuple[str, ...]
    count: int


class Stall(Part, frozen=True, kw_only=True):
    """``waiting`` messages wait in the queues, and the first of these queues has not moved for ``stalled_ms``.

    ``by_pull_offset`` false: a broker before 5.1 has no pull offset, so it is the consumer offset that does not move.
    """

    waiting: int
    stalled_ms: int
    by_pull_offset: bool


class Unconsumed(Part, frozen=True, kw_only=True):
    """An owner with pulled messages has consumed nothing for ``unconsumed_ms``.

    ``pulled``: the number that it had pulled by then, if it does not report itself that it has some; else null.
    """

    unconsumed_ms: int
    pulled: int | None = None


class NotConsumedBy(Part, frozen=True, kw_only=True):
    """Broadcasting: members that do not own the queue, though each of them should."""

    clients: Clients


class NotInRoute(Part, frozen=True, kw_only=True):
    """The queue is not in the topic's route, which was confirmed at ``confirmed_ts``."""

    confirmed_ts: int


class SubscriptionMembers(Struct, frozen=True):
    """Members with the same subscriptions: topics, each with its filter if it has one (``T (TagA)``)."""

    subscriptions: tuple[str, ...]
    clients: Clients


class SubscriptionsDiffer(Part, frozen=True, kw_only=True):
    """Members subscribe to different topics or filters; the rarest subscription comes first."""

    members: tuple[SubscriptionMembers, ...]


class SubscriptionsInTurn(Part, frozen=True, kw_only=True):
    """Brokers show these sets of topics in turn: members overwrite each other's subscription.

    ``refused_topic``: while the shown set lacks this topic, brokers refuse the pulls of its queues.
    """

    topics: tuple[tuple[str, ...], ...]
    refused_topic: str | None = None


class QueueName(Struct, frozen=True):
    """A queue of the alert's topic."""

    broker_name: str
    queue_id: int


class UnreadableQueues(Struct, frozen=True):
    """Queues that no member can read, for one cause.

    ``waiting`` messages of the group wait in them, by offsets of which the oldest was read at ``read_ts``; null: not
    known. ``at_least``: for some queue it is only known how many have arrived since it was first read.
    """

    cause: str
    queues: tuple[QueueName, ...]
    waiting: int | None = None
    read_ts: int | None = None
    at_least: bool = False


class Unreadable(Part, frozen=True, kw_only=True):
    """Messages arrive in queues that no member can read."""

    causes: tuple[UnreadableQueues, ...]


class OffsetBack(Struct, frozen=True):
    """A queue whose committed offset went back: it was ``from_offset`` before, and ``to_offset`` at its lowest."""

    broker_name: str
    queue_id: int
    from_offset: int
    to_offset: int


class OffsetsBack(Part, frozen=True, kw_only=True):
    """Committed offsets went back, so at least ``messages`` messages are consumed again, by the offsets that were read.

    ``queues``: those with the most of these messages, at most 20; ``more``: how many other queues; null: none. The
    offsets before were read from ``before_ts`` on, a lower one first at ``seen_ts``. ``broker_names``: brokers of these
    queues that gave no list of members in between, the last of them until ``back_ts``. ``owned_twice``: two clients may
    have consumed some of the queues at that time. ``changed_ts``: when members joined or left shortly before; null:
    none. ``may_be_reset``: an operator may have reset them, or clients that pull actively have.
    """

    queues: tuple[OffsetBack, ...]
    messages: int
    before_ts: int
    seen_ts: int
    may_be_reset: bool
    owned_twice: bool = False
    broker_names: tuple[str, ...] = ()
    back_ts: int | None = None
    changed_ts: int | None = None
    more: int | None = None


class BlockedQueue(Struct, frozen=True):
    """A queue of a FIFO group: the message at ``offset`` is not acknowledged, and ``behind`` messages wait for that."""

    broker_name: str
    queue_id: int
    offset: int
    behind: int


class HeadBlocked(Part, frozen=True, kw_only=True):
    """The first message of FIFO queues was handed out, and is neither acknowledged nor given up.

    ``queues``: those with the most messages behind it, at most 20; ``more``: how many other queues; null: none.
    ``waiting`` messages wait in all of them, and the first of these queues has stood still for ``stands_ms``. A poll of
    a client that got none of them was seen at ``polled_ts``.
    """

    queues: tuple[BlockedQueue, ...]
    waiting: int
    stands_ms: int
    polled_ts: int
    more: int | None = None


class ConsumedAgain(Part, frozen=True, kw_only=True):
    """Messages came back to be delivered again: clients refused them, or did not acknowledge them in time.

    ``again`` messages came into ``retry_topics`` on these brokers within ``counted_ms``, while clients took ``taken``
    messages there, those that had come back among them. ``since_ts``: since when some have come back all the time.
    """

    again: int
    taken: int
    counted_ms: int
    since_ts: int
    broker_names: tuple[str, ...]
    retry_topics: tuple[str, ...]


class NoMemberListed(Part, frozen=True, kw_only=True):
    """No broker lists a member. ``waiting`` messages wait; null: not known; ``at_least``: not known of every queue.

    ``away_before_ms``: the longest of its earlier times without members; null: none are known. ``allowed_ms``: the
    longest time without members that the configuration allows; null: not configured. ``at_proxies``: proxies have
    listed members, and list none now; null: none has. ``proxies_away``: those of them (host:port) that did not answer
    at about the time when the group lost its members; null: all answered.
    """

    waiting: int | None
    at_least: bool
    away_before_ms: int | None = None
    allowed_ms: int | None = None
    at_proxies: bool | None = None
    proxies_away: tuple[str, ...] | None = None


class ClientsComeAndGo(Part, frozen=True, kw_only=True):
    """The joins and leaves of clients. ``names`` are client ids, or hosts whose processes are replaced in turn.

    ``changes``: joins and leaves of all members within ``within_ms``; null: these have joined and left for that long.
    """

    names: tuple[str, ...]
    changes: int | None
    within_ms: int


class MoreMembersThanQueues(Part, frozen=True, kw_only=True):
    """``members`` share ``queues`` queues."""

    members: int
    queues: int


class SameClientId(Part, frozen=True, kw_only=True):
    """A client id that ``instances`` processes use, from these addresses; ``start_ts`` if they report it."""

    client_id: str
    instances: int
    addresses: tuple[str, ...] = ()
    start_ts: tuple[int, ...] = ()


class ListedTwice(Part, frozen=True, kw_only=True):
    """A client id is listed ``entries`` times, and no second instance is proven.

    If one of the connections is dead, brokers drop it within ``gone_within_ms``.
    """

    client_id: str
    entries: int
    addresses: tuple[str, ...]
    gone_within_ms: int


class NotSubscribed(Part, frozen=True, kw_only=True):
    """Members that do not subscribe to the topic, though they count as members for it."""

    clients: Clients
    topic: str


class MessageModelsDiffer(Part, frozen=True, kw_only=True):
    """Members that report to be BROADCASTING, and all others."""

    broadcasting: Clients
    clustering: Clients


class StrategyMembers(Struct, frozen=True):
    """Members that report the same strategy class."""

    strategy: str
    clients: Clients


class StrategiesDiffer(Part, frozen=True, kw_only=True):
    """Members report different strategies; the rarest comes first."""

    members: tuple[StrategyMembers, ...]


class SdkMembers(Struct, frozen=True):
    """Members whose SDK is written in the same language."""

    language: str
    clients: Clients


class SdksDiffer(Part, frozen=True, kw_only=True):
    """Members of these SDKs own other queues than the strategy gives them; members of all other SDKs own theirs."""

    members: tuple[SdkMembers, ...]


class OwnersBalanceOtherwise(Part, frozen=True, kw_only=True):
    """Members to which the strategy gives the queues, but which do not follow it. ``exclusions``: the reasons."""

    clients: Clients
    exclusions: tuple[str, ...]


class BrokerList(Struct, frozen=True):
    """The members that one broker lists."""

    broker_name: str
    clients: Clients


class MemberListsDiffer(Part, frozen=True, kw_only=True):
    """Brokers that host the topic list different members."""

    lists: tuple[BrokerList, ...]


class MembersSplit(Part, frozen=True, kw_only=True):
    """Members that brokers list and no proxy, and members that proxies list and no broker."""

    at_brokers: Clients
    at_proxies: Clients


class NotPolled(Part, frozen=True, kw_only=True):
    """``waiting`` messages wait in the queues, and no client has polled the first of them for ``silent_ms``."""

    waiting: int
    silent_ms: int


class RefusedByBrokers(Part, frozen=True, kw_only=True):
    """Brokers that let nobody of the group consume: ``consumeEnable`` is false, or the group does not exist there."""

    broker_names: tuple[str, ...]


class PolledElsewhere(Part, frozen=True, kw_only=True):
    """Clients poll these brokers, and not that of the queues. ``proxies`` (host:port) list them; None: brokers do."""

    broker_names: tuple[str, ...]
    proxies: tuple[str, ...] | None = None


class SilentSinceProxy(Part, frozen=True, kw_only=True):
    """Members that are listed. They polled until these proxies (host:port) stopped answering, ``away_ms`` ago."""

    clients: Clients
    proxies: tuple[str, ...]
    away_ms: int


class ReviveBehind(Part, frozen=True, kw_only=True):
    """Brokers do not give out again, or give out late, messages that clients took by POP and did not acknowledge.

    ``records`` wait in the queues of their revive log: what was taken, and what was acknowledged. ``stands_ms``: for
    how long the first of the queues has grown and has not been read on; null: all are read on. ``late_for_ms``: for how
    long the first of those has been read at least a minute late; null: none of them is.
    """

    broker_names: tuple[str, ...]
    records: int
    stands_ms: int | None = None
    late_for_ms: int | None = None


class RoomWithoutConsumer(Part, frozen=True, kw_only=True):
    """No member consumes in the machine room of these brokers."""

    broker_names: tuple[str, ...]


class NotConfigured(Part, frozen=True, kw_only=True):
    """None of the lists of ``members`` members names these queues."""

    members: int


class NotLocked(Part, frozen=True, kw_only=True):
    """Orderly: members that should own the queues but do not have the broker's lock of them."""

    clients: Clients


class BrokerQueues(Struct, frozen=True):
    """The number of readable queues of the topic that a broker has."""

    broker_name: str
    queues: int


class RouteAtNameServers(Struct, frozen=True):
    """The route as these name servers (host:port) have it; empty: not known which."""

    name_servers: tuple[str, ...]
    brokers: tuple[BrokerQueues, ...]


class RoutesDiffer(Part, frozen=True, kw_only=True):
    """Name servers have different copies of the topic's route."""

    copies: tuple[RouteAtNameServers, ...]


class OldRoute(Part, frozen=True, kw_only=True):
    """The route changed ``changed_ms`` before, and members still use the one before."""

    changed_ms: int


class NotAnswering(Part, frozen=True, kw_only=True):
    """Owners that are listed, and have not answered for ``silent_ms``."""

    clients: Clients
    silent_ms: int


class ClientsStuck(Part, frozen=True, kw_only=True):
    """No queue of these owners moves; with ``broker_names``, this is so only on these brokers."""

    clients: Clients
    broker_names: tuple[str, ...] = ()


class OwnersDoNotReport(Part, frozen=True, kw_only=True):
    """Members that should own the queues, pull by themselves, and do not report which queues they own."""

    clients: Clients


class MemberGone(Part, frozen=True, kw_only=True):
    """The last owners, who have left; no other client has taken their queues."""

    clients: Clients


class Unexplained(Part, frozen=True, kw_only=True):
    """No known cause fits; ``reported`` of ``members`` members have reported.

    ``changed_ms``: the time since members or routes changed last; null: not since the first round. ``keep``: clients
    that own some of the queues, which others should own; ``leave``: clients that should own some, and do not.
    """

    reported: int
    members: int
    changed_ms: int | None
    keep: Clients | None = None
    leave: Clients | None = None


class Observed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field for each kind of evidence; an alert has one or two of them, all others are null.

    ``fired_times``: the number of times that the alert has fired, if it comes and goes. ``forgotten_by``: who retired
    the group.
    """

    stall: Stall | None = None
    unconsumed: Unconsumed | None = None
    not_consumed_by: NotConsumedBy | None = None
    not_in_route: NotInRoute | None = None
    subscriptions_differ: SubscriptionsDiffer | None = None
    subscriptions_in_turn: SubscriptionsInTurn | None = None
    unreadable: Unreadable | None = None
    no_member_listed: NoMemberListed | None = None
    clients_come_and_go: ClientsComeAndGo | None = None
    more_members_than_queues: MoreMembersThanQueues | None = None
    same_client_id: SameClientId | None = None
    listed_twice: ListedTwice | None = None
    not_subscribed: NotSubscribed | None = None
    strategies_differ: StrategiesDiffer | None = None
    sdks_differ: SdksDiffer | None = None
    owners_balance_otherwise: OwnersBalanceOtherwise | None = None
    member_lists_differ: MemberListsDiffer | None = None
    room_without_consumer: RoomWithoutConsumer | None = None
    not_configured: NotConfigured | None = None
    not_locked: NotLocked | None = None
    routes_differ: RoutesDiffer | None = None
    old_route: OldRoute | None = None
    not_answering: NotAnswering | None = None
    clients_stuck: ClientsStuck | None = None
    owners_do_not_report: OwnersDoNotReport | None = None
    member_gone: MemberGone | None = None
    unexplained: Unexplained | None = None
    fired_times: int | None = None
    forgotten_by: str | None = None
    message_models_differ: MessageModelsDiffer | None = None
    offsets_back: OffsetsBack | None = None
    members_split: MembersSplit | None = None
    not_polled: NotPolled | None = None
    silent_since_proxy: SilentSinceProxy | None = None
    head_blocked: HeadBlocked | None = None
    consumed_again: ConsumedAgain | None = None
    revive_behind: ReviveBehind | None = None
    refused_by_brokers: RefusedByBrokers | None = None
    polled_elsewhere: PolledElsewhere | None = None


def counted(number: int) -> int:
    """A number of messages, limited to a table's BIGINT: offsets may be anything up to that."""
    return min(number, MOST_MESSAGES)


def clients(client_ids: Iterable[str], at_most: int = CLIENTS_AT_MOST) -> Clients:
    """Some clients, cut to what a person reads: a group may have thousands."""
    names = sorted(client_ids)
    return Clients(tuple(names[:at_most]), len(names))


@cache
def fields_by_type() -> dict[type[Part], str]:
    """The field of :class:`Observed` for each kind of evidence."""
    hints = get_type_hints(Observed)
    kinds = {name: get_args(hint)[0] for name, hint in hints.items() if get_args(hint)}
    return {kind: name for name, kind in kinds.items() if issubclass(kind, Part)}


def observed(*parts: Part | None) -> Observed:
    """The parts that are not None, each in its field."""
    by_type = fields_by_type()
    return Observed(**{by_type[type(part)]: part for part in parts if part is not None})  # type: ignore[arg-type]


def with_part(evidence: Observed, part: Part) -> Observed:
    """The evidence with ``part`` in its field."""
    return replace(evidence, **{fields_by_type()[type(part)]: part})


def parts_of(evidence: Observed) -> list[Part]:
    """The parts that are not null, in the order of the fields."""
    return [part for name in fields_by_type().values() if (part := getattr(evidence, name)) is not None]
