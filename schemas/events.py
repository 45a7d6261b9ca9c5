"""The events, one typed definition each: six about the state of a cluster, and one from its operator.

Events are JSON under the Kafka key ``cluster/group``: a record is one event, or an array of events of one group. Times
are epoch milliseconds, UTC.
Unknown fields are ignored: a newer producer does not break an older reader, and fields that only older producers write
do no harm. Defined fields are checked strictly. ``schemas/json/`` has the JSON Schema files made from these
definitions.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from schemas.identity import MessageQueue

SCHEMA_VERSION = 1
PARTS_AT_MOST = 64  # of one round: some 100,000 names
# Fields of a Round that are spread over its parts. All other fields are in each part.
SPREAD_OVER_PARTS = (
    *("brokers", "unchanged_lists", "asked", "not_asked", "reports", "offsets", "heartbeats"),
    *("polls", "in_flight"),
)

LONGEST_NAME = 1024
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Millis = Annotated[int, Meta(ge=0, le=253_402_300_799_999, description="epoch milliseconds, UTC")]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, Meta(ge=-1, le=2**63 - 1)]
Lag = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
SQL92 = "SQL92"  # Subscription.expression_type
MessageModel = Literal["CLUSTERING", "BROADCASTING"]


class Event(Struct, tag_field="event", kw_only=True, frozen=True, omit_defaults=True, gc=False):
    """Base of the events, with the fields that each of them has.

    ``cluster`` is the name configured for a set of name servers, not the broker's cluster name.
    ``round`` numbers the collection rounds of a cluster by their start time; it rises unless a clock is set back.
    ``seq`` counts up by one per group and ``source``: a gap that stays open shows that events were lost on the way.
    ``source`` names one run of one producer; a restarted producer takes a new one and counts from any number.
    """

    schema: Annotated[int, Meta(ge=1, le=SCHEMA_VERSION)]
    cluster: Annotated[str, Meta(min_length=1, max_length=255, pattern="^[^/]+$")]
    group: Name
    ts: Millis
    round: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    seq: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    source: Annotated[str, Meta(max_length=255)] = ""


class Subscription(Struct, frozen=True, omit_defaults=True, gc=False):
    """One topic that a client subscribes to, with its filter; ``expression`` is None if only the topic is known.

    ``expression_type`` SQL92: the filter is an expression in SQL; any other: it names tags (``ExpressionType``).
    """

    topic: Name
    expression: str | None = None
    expression_type: str | None = None


class Heartbeat(Event, tag="heartbeat", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Broker ``broker_name`` knows client ``client_id`` as a member of the group.

    ``observed``: ``listed`` if a poll saw it in the broker's list (the time of its last heartbeat is then not known),
    ``heartbeat`` if the heartbeat itself was seen. ``addresses``: one per channel; two channels under one client id are
    two entries. ``version`` is one of ``MQVersion``: its name, or its ordinal. ``alive``: the number of these channels
    that have sent a heartbeat within the last 31 s, or since the producer saw all of them first; a dead channel sends
    none. It is left out (null) if that is not known.
    """

    broker_name: Name
    client_id: Name
    observed: Literal["listed", "heartbeat"]
    addresses: tuple[str, ...] = ()
    language: str | None = None
    version: str | None = None
    message_model: MessageModel | None = None
    consume_type: str | None = None
    subscriptions: tuple[Subscription, ...] | None = None
    alive: Count | None = None


class ConsumerChange(Event, tag="consumer_change", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A client appeared in or disappeared from a broker's list; ``reason`` only from a producer that observed it."""

    broker_name: Name
    client_id: Name
    change: Literal["appeared", "disappeared"]
    reason: Literal["registered", "unregistered", "expired", "closed"] | None = None


class RouteQueues(Struct, frozen=True, gc=False):
    """A topic's queues on one broker (``QueueData``). ``perm``: 4 readable, 2 writable, 6 both."""

    broker_name: Name
    read_queue_nums: Count
    write_queue_nums: Count
    perm: Count


class RouteCopy(Struct, frozen=True, gc=False):
    """The copy of the same topic at other name servers (their addresses)."""

    name_servers: tuple[Name, ...]
    brokers: tuple[RouteQueues, ...]


class TopicRoute(Event, tag="topic_route", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The queues of a topic per broker (``TopicRouteData``): a full snapshot; no ``brokers`` means no route.

    ``static``: its queues are only mapped to these brokers (``topicQueueMappingByBroker``). Clients own queues of a
    broker ``__syslo__...`` instead, which no route names. Name servers do not talk to each other, and each client asks
    one of its own choice. ``others`` are the copies of name servers that differ from this one, which ``name_servers``
    have: none if all that are configured agree. It is left out (null) by a producer that asks only one of several.
    """

    topic: Name
    brokers: tuple[RouteQueues, ...]
    static: bool = False
    name_servers: tuple[Name, ...] = ()
    others: tuple[RouteCopy, ...] | None = None


class OwnedQueue(Struct, frozen=True, omit_defaults=True, gc=False):
    """One process queue of a client (``ProcessQueueInfo``). ``cached_msg_count``: messages pulled and not consumed."""

    queue_id: Annotated[int, Meta(ge=-1, le=2**31 - 1)]
    cached_msg_count: Count = 0
    dropped: bool = False


class OwnedQueues(Struct, frozen=True, gc=False):
    """The queues of one topic on one broker that a client reports to own."""

    topic: Name
    broker_name: Name
    queues: tuple[OwnedQueue, ...]


class AssignmentReport(Event, tag="assignment_report", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The queues that a client reports to own (``ConsumerRunningInfo``): a full snapshot of the moment ``answered_ts``.

    ``answered`` false: it was asked and did not answer (``reason``: its failure); nothing else is then known.
    ``start_ts`` (``PROP_CONSUMER_START_TIMESTAMP``) distinguishes two instances with one client id.
    ``pop`` are the queues of its pop table: such a client does not rebalance by itself.
    ``consume_type`` (``PROP_CONSUME_TYPE``) is the client's own; a heartbeat's is that of the group's last heartbeat.
    ``data_version``: a number that differs if anything here except times and ``cached_msg_count`` differs. A later
    round confirms the report by it (``ConfirmedReport``); 0: no round does.
    """

    client_id: Name
    answered: bool
    answered_ts: Millis
    reason: str | None = None
    start_ts: Millis | None = None
    strategy: str | None = None
    orderly: bool | None = None
    client_rebalance: bool | None = None
    message_model: MessageModel | None = None
    subscriptions: tuple[Subscription, ...] = ()
    owned: tuple[OwnedQueues, ...] = ()
    pop: tuple[OwnedQueues, ...] = ()
    consume_type: str | None = None
    data_version: Count = 0


class QueueProgress(Struct, frozen=True, omit_defaults=True, gc=False):
    """Offsets of one queue (``OffsetWrapper``): the broker's newest, the group's consumed, the group's pulled.

    ``consumed_ts``: when the last consumed message was stored (``lastTimestamp``); 0: not known, or none waits.
    """

    queue_id: Count
    broker_offset: Offset
    consumer_offset: Offset
    pull_offset: Offset
    consumed_ts: Millis = 0


class ConsumeProgress(Event, tag="consume_progress", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A broker's offsets of the group for some queues of one topic."""

    broker_name: Name
    topic: Name
    queues: tuple[QueueProgress, ...]


class ListedClient(Struct, frozen=True, array_like=True, gc=False):
    """A ``Heartbeat`` of a client that was ``listed``, without subscriptions and ``alive``."""

    broker_name: Name
    client_id: Name
    addresses: tuple[str, ...]
    language: str | None
    version: str | None
    message_model: MessageModel | None
    consume_type: str | None


class BrokerAnswer(Struct, frozen=True, omit_defaults=True, gc=False):
    """The answer of one broker in the round: its whole list of the group's client ids, double entries kept.

    ``listed_since``: ``ts`` of the first marker with this list; 0: not known. If markers got lost, it shows whether the
    list was a different one in between. ``entries``: for a list that is split over several parts of a round, the number
    of all its entries; 0: it is here completely.
    ``data_version``: a number that differs if the list differs in more than its order. ``unchanged``: the list is the
    last one sent under this number, and is left out here. An ``UnchangedList`` means the same.
    """

    broker_name: Name
    answered: bool
    client_ids: tuple[Name, ...] = ()
    error: str | None = None
    listed_since: Millis = 0
    entries: Count = 0
    data_version: Count = 0
    unchanged: bool = False


class UnchangedList(Struct, frozen=True, array_like=True, gc=False):
    """A broker answered, and its list is the last one sent under this ``data_version`` (``BrokerAnswer``)."""

    broker_name: Name
    data_version: Count
    listed_since: Millis = 0


class NotAsked(Struct, frozen=True, gc=False):
    """A client that was not asked for a report in this round, and why."""

    client_id: Name
    reason: str


class ConfirmedReport(Struct, frozen=True, array_like=True, gc=False):
    """A client reported at ``answered_ts`` the same as in its last report with this ``data_version``.

    ``busy`` are the owned queues of which it has pulled and unconsumed messages: their places among the queues of that
    report that are not dropped, ``in_order_of_places``. The counts themselves change all the time and are not sent.
    """

    client_id: Name
    data_version: Count
    answered_ts: Millis
    busy: tuple[Count, ...] = ()


Owned = TypeVar("Owned")


def in_order_of_places(queues: Iterable[Owned], name_of: Callable[[Owned], MessageQueue]) -> list[Owned]:
    """Owned queues of a report in the order in which ``ConfirmedReport.busy`` counts their places."""
    return sorted(queues, key=name_of)


class QueueOffsets(Struct, frozen=True, array_like=True, gc=False):
    """Offsets of one queue, as in ``QueueProgress``; lags are relative to ``broker_offset`` and so take fewer bytes."""

    queue_id: Count
    broker_offset: Offset
    consumer_lag: Lag
    pull_lag: Lag
    consumed_ts: Millis = 0

    @property
    def consumer_offset(self) -> int:
        return self.broker_offset - self.consumer_lag

    @property
    def pull_offset(self) -> int:
        return self.broker_offset - self.pull_lag


class TopicOffsets(Struct, frozen=True, array_like=True, gc=False):
    """A ``ConsumeProgress``: a broker's offsets of the group for some queues of one topic, read at ``ts``."""

    broker_name: Name
    topic: Name
    ts: Millis
    queues: tuple[QueueOffsets, ...]


ANY_QUEUE = -1  # a proxy polls for gRPC clients at no queue of its own choice (ReceiveMessageActivity)


class TopicPolls(Struct, frozen=True, array_like=True, gc=False):
    """How many polls of the group waited at a broker at ``ts`` for messages of a topic that it consumes by POP.

    ``queue_id`` -1: for messages of any queue there; the polls at single queues are not among them. A poll waits only
    while there is no message for it. ``is_closed``: the broker lets nobody of the group consume, so none can wait.
    """

    broker_name: Name
    topic: Name
    queue_id: Annotated[int, Meta(ge=-1, le=2**31 - 1)]
    ts: Millis
    waiting: Count
    is_closed: bool = False


class TopicInFlight(Struct, frozen=True, array_like=True, gc=False):
    """The messages of a topic that clients had taken from a broker by POP, and not acknowledged, at ``ts``.

    Those are among them whose invisible time has run out, until they are given out again.
    """

    broker_name: Name
    topic: Name
    ts: Millis
    messages: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Round(Event, tag="round", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The round ended at ``ts``: the group's clock, and what the round covered. It is also called the marker.

    ``consume_enable`` and ``orderly`` come from the subscription group's settings. ``subscribed`` are the topics of the
    group's last heartbeat at each broker that lists a member, without retry topics. A topic that a reader knows and
    that is not among them has no subscriber. Each of the three is valid until a later marker has it; None: as before,
    or not known.
    ``rival_subscriptions``: a broker knows one set of topics a group, that of its last heartbeat; these are the sets
    that alternated there lately while the members stayed the same: members overwrite each other's.
    ``pop_topics`` are those of which a broker is set to hand out messages to the group itself (MessageRequestMode POP).
    ``popped_in_part`` are those of them of which other brokers of the topic are not set to do so.
    ``lite``: the group consumes lite topics (RocketMQ 5.5). Offsets and polls of their parent topic say nothing of it.
    ``routes_changed_ts``: ``ts`` of the newest copy of a route that differed from the copy sent before it, or was the
    first of its topic; 0: none was sent yet. If events got lost, it shows whether a changed route was among them. A
    producer that gives it also gives ``listed_since``; None: it gives neither.
    ``part`` of ``parts``: a round that is too long for one record (128 KB) is sent in parts with one ``ts``, numbered
    from 0. ``brokers``, ``unchanged_lists``, ``asked``, ``not_asked``, ``reports``, ``offsets``, ``heartbeats``,
    ``polls`` and ``in_flight`` are spread over them; all other fields are in each part. The parts count as one marker.
    ``look``: the producer has just started and does not know which groups had members before. So it sends such a round
    for every group without members; a reader that does not know the group ignores it.
    ``brokers``: the answer of each broker of the group, except those that ``unchanged_lists`` names.
    ``asked`` are the clients that were asked for a report, without those that ``reports`` confirms.
    ``reports`` confirms earlier reports of clients; ``offsets`` and ``heartbeats`` are the brokers' answers since the
    round before: the same as separate events, in fewer bytes. They count before the marker, and so do ``polls`` and
    ``in_flight``.
    """

    brokers: tuple[BrokerAnswer, ...]
    asked: tuple[Name, ...] = ()
    not_asked: tuple[NotAsked, ...] = ()
    consume_enable: bool | None = None
    orderly: bool | None = None
    rival_subscriptions: tuple[tuple[Name, ...], ...] = ()
    pop_topics: tuple[Name, ...] = ()
    routes_changed_ts: Millis | None = None
    part: Annotated[int, Meta(ge=0, le=PARTS_AT_MOST - 1)] = 0
    parts: Annotated[int, Meta(ge=1, le=PARTS_AT_MOST)] = 1
    subscribed: tuple[Name, ...] | None = None
    look: bool = False
    reports: tuple[ConfirmedReport, ...] = ()
    offsets: tuple[TopicOffsets, ...] = ()
    heartbeats: tuple[ListedClient, ...] = ()
    unchanged_lists: tuple[UnchangedList, ...] = ()
    polls: tuple[TopicPolls, ...] = ()
    lite: bool = False
    popped_in_part: tuple[Name, ...] = ()
    in_flight: tuple[TopicInFlight, ...] = ()


class Forget(Event, tag="forget", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An operator has retired the group: its open alerts end at once, and members that no broker lists are forgotten.

    It takes effect on arrival, whatever its ``ts``; ``who`` is shown with the alerts that it ends.
    """

    who: Annotated[str, Meta(max_length=255)] = ""


AnyEvent = Heartbeat | ConsumerChange | TopicRoute | AssignmentReport | ConsumeProgress | Round | Forget

EVENT_TYPES: tuple[type[Event], ...] = get_args(AnyEvent)

encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(AnyEvent).decode
