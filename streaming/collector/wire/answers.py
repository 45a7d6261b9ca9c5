"""The answers to the requests that evenkeel makes, one type a request. A line of a recording is one of these.

All are judged by ``code``, never by a remark. ``ts`` is the moment of the request and ``dur_ms`` later is that of
the answer, in epoch milliseconds. ``code`` None: there was no answer, and ``error`` may say how that showed.
Names in JSON are RocketMQ's; a field that is null counts as absent. A body with an empty name, or with a number that
Java's type of the field can't hold, can't be read: no event may have it. Where clients and operators may write any
name, one that cannot be is left out: a topic of a subscription or of a request mode, a broker.
"""

from typing import Annotated, Any, get_args

import msgspec
from msgspec import Struct, field

from schemas.events import ANY_QUEUE, LONGEST_NAME, Name

SUCCESS = 0
SYSTEM_ERROR = 1  # to 38: no such group on this broker, so no members; to 307: no such client
REQUEST_CODE_NOT_SUPPORTED = 3
NO_PERMISSION = 16  # to 200055: the group, or the topic, is not to be consumed on this broker
TOPIC_NOT_EXIST = 17
NO_MESSAGES = (19, 20, 21)  # PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY, PULL_OFFSET_MOVED
CONSUMER_NOT_ONLINE = 206
CONSUME_MSG_TIMEOUT = 207  # to 307: the client did not answer the broker within 10 s
REMARK_CHARACTERS = 160  # a remark may be a whole stack trace

LARGEST_INT, LARGEST_LONG = 2**31 - 1, 2**63 - 1  # of Java
JavaInt = Annotated[int, msgspec.Meta(ge=-LARGEST_INT - 1, le=LARGEST_INT)]
JavaLong = Annotated[int, msgspec.Meta(ge=-LARGEST_LONG - 1, le=LARGEST_LONG)]


def can_be_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME


class Line(Struct, tag_field="kind", frozen=True, kw_only=True, omit_defaults=True):
    """The base of every line of a recording; a line without ``cluster`` belongs to the one of the meta before it."""

    ts: int
    cluster: str | None = None


def refusal(code: int, remark: str | None) -> str:
    """The code that refuses, with the first words of the remark: it tells a wrong secret from a broken broker."""
    words = " ".join((remark or "").partition("\n")[0].split())[:REMARK_CHARACTERS]
    return f"code {code}: {words}" if words else f"code {code}"


class Answer(Line, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every answer. ``refusal`` has the code of one that is no success, and its remark in short."""

    dur_ms: float = 0
    code: int | None = None
    error: str | None = None
    refusal: str | None = None

    @property
    def end_ts(self) -> int:
        """The moment of the answer."""
        return self.ts + max(0, round(self.dur_ms))

    @property
    def failure(self) -> str:
        """How it failed, in words; for an answer that did."""
        if self.error:
            return self.error
        return "no answer" if self.code is None else self.refusal or f"code {self.code}"


class Brokered(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """An answer of one broker about one group."""

    broker: str
    group: str | None = None


class ConsumerListAnswer(Brokered, tag="consumer_list", frozen=True, kw_only=True, omit_defaults=True):
    """38, GET_CONSUMER_LIST_BY_GROUP: the client ids, one entry a channel, so that an id can stand twice."""

    ids: tuple[Name, ...] | None = None


class Connection(Struct, frozen=True, omit_defaults=True):
    """One connection of ``ConsumerConnection``; ``version`` is the ordinal of ``MQVersion``."""

    client_id: Name = field(name="clientId")
    address: str | None = field(name="clientAddr", default=None)
    language: str | None = None
    version: int | str | None = None


class ConsumerConnection(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """``subscription_table`` is that of the group's *last* heartbeat: it need not be true of other clients. ``topics``:
    those of it that there can be.
    """

    connection_set: tuple[Connection, ...] | None = None
    consume_type: str | None = None
    message_model: str | None = None
    subscription_table: dict[str, Any] | None = None

    @property
    def topics(self) -> list[str]:
        return sorted(filter(can_be_name, self.subscription_table or ()))


class ConnectionsAnswer(Brokered, tag="connections", frozen=True, kw_only=True, omit_defaults=True):
    """203, GET_CONSUMER_CONNECTION_LIST."""

    body: ConsumerConnection | None = None


class ChannelHeartbeat(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A connection of a client, and when it last sent a heartbeat, by the broker's clock."""

    client_id: Name
    address: str
    heartbeat_ts: JavaLong


class HeartbeatsAnswer(Brokered, tag="heartbeats", frozen=True, kw_only=True, omit_defaults=True):
    """328, GET_ALL_PRODUCER_INFO: the connections of those of the group's clients whose ids are listed twice."""

    channels: tuple[ChannelHeartbeat, ...] = ()


class QueueData(Struct, frozen=True, omit_defaults=True, rename="camel"):
    broker_name: Name
    read_queue_nums: JavaInt
    write_queue_nums: JavaInt
    perm: JavaInt


class TopicQueueMapping(Struct, frozen=True):
    """``TopicQueueMappingInfo``: what a static topic has on one broker. Only that there is one is used."""


class TopicRouteData(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """``topic_queue_mapping_by_broker`` of a static topic says where its logical queues lie; only 5.x knows it."""

    queue_datas: tuple[QueueData, ...] | None = None
    topic_queue_mapping_by_broker: dict[str, TopicQueueMapping] | None = None


class RouteAnswer(Answer, tag="route", frozen=True, kw_only=True, omit_defaults=True):
    """105, GET_ROUTEINFO_BY_TOPIC. An older recording holds one when it differs from the last, of any name server.

    ``name_server``: whose answer it is, where each is asked; None: none gave one.
    """

    topic: str
    name_server: str | None = None
    body: TopicRouteData | None = None


class ProcessQueue(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A key of ``mqTable`` with its ``ProcessQueueInfo``; ``droped`` is RocketMQ's spelling."""

    topic: Name
    broker_name: Name
    queue_id: JavaInt
    cached_msg_count: JavaInt | None = None
    droped: bool = False
    transaction_msg_count: JavaInt | None = None


class SubscriptionData(Struct, frozen=True, omit_defaults=True, rename="camel"):
    topic: str
    sub_string: str | None = None
    expression_type: str | None = None


class RunningInfoAnswer(Brokered, tag="running_info", frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """307, GET_CONSUMER_RUNNING_INFO: what one client owns, asked through ``broker``. It holds at the *answer*.

    ``subscriptions`` are topics, or topics with their filters. ``strategy`` is the class name,
    ``client_rebalance`` "false" in a client that leaves the balance to the broker.
    """

    dur_ms: float = field(name="dur_ms", default=0)
    client_id: str
    mq_table: tuple[ProcessQueue, ...] | None = None
    mq_pop_table: tuple[ProcessQueue, ...] | None = None
    subscriptions: tuple[str | SubscriptionData, ...] | None = None
    start_timestamp: str | int | None = None
    strategy: str | None = None
    orderly: str | bool | None = None
    client_rebalance: str | bool | None = None
    message_model: str | None = None
    consume_type: str | None = None


class OffsetRow(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A queue of ``ConsumeStats``; ``pull_offset`` is unknown to brokers of the 4.x line."""

    topic: Name
    queue_id: JavaInt
    broker_name: Name | None = None
    broker_offset: JavaLong | None = None
    consumer_offset: JavaLong | None = None
    pull_offset: JavaLong | None = None
    last_timestamp: JavaLong | None = None


class ConsumeStatsAnswer(Brokered, tag="consume_stats", frozen=True, kw_only=True, omit_defaults=True):
    """208, GET_CONSUME_STATS: the group's offsets on one broker.

    Or 30, GET_MAX_OFFSET, and 14, QUERY_CONSUMER_OFFSET, of the queues that 208 does not name. There
    ``consumer_offset`` None says that the broker does not know where the group would go on.
    """

    topic: str | None = None
    table: tuple[OffsetRow, ...] | None = None


class PollsAnswer(Brokered, tag="polls", frozen=True, kw_only=True, omit_defaults=True):
    """200055, POLLING_INFO: how many polls of the group wait at a broker for messages of a topic.

    ``queue_id`` -1: of any queue there. A client that pops single queues waits at each of these. ``is_closed``: the
    broker was not asked, since by its answer to 201 nobody of the group can consume there.
    """

    topic: str
    queue_id: int = field(name="queueId", default=ANY_QUEUE)
    waiting: int | None = None
    is_closed: bool = field(name="closed", default=False)


class InFlightAnswer(Brokered, tag="in_flight", frozen=True, kw_only=True, omit_defaults=True):
    """A broker's own page of metrics: how many messages of a topic clients have popped and not acknowledged."""

    topic: str
    messages: int


class SubscriptionGroupAnswer(Brokered, tag="subscription_group", frozen=True, kw_only=True, omit_defaults=True):
    """352 or 201, and 402: the group's own settings (``SubscriptionGroupConfig``), and the topics it is set to pop.

    ``popped_in_part``: topics that only some of their brokers pop. ``lite``: it is bound to the lite topics of a parent
    topic.
    """

    consume_enable: bool | None = field(name="consumeEnable", default=None)
    orderly: bool | None = field(name="consumeMessageOrderly", default=None)
    pop_topics: tuple[str, ...] | None = field(name="popTopics", default=None)
    popped_in_part: tuple[str, ...] = field(name="poppedInPart", default=())
    lite: bool = False


class Meta(Line, tag="meta", frozen=True, kw_only=True, omit_defaults=True):
    """Opens a recording, or a group in it: its brokers (name: address) and topics (name: queues a broker)."""

    group: str | None = None
    brokers: dict[str, Any] | None = None
    topics: dict[str, Any] | None = None


class RoundEnd(Line, tag="round", frozen=True, kw_only=True, omit_defaults=True):
    """Ends a round where the recorder says so: who was asked in it, and who was not, with the reason.

    ``ts`` is the end of the round. Without ``group``, it ends the round of every group of the cluster.
    """

    group: str | None = None
    asked: tuple[str, ...] | None = None
    not_asked: dict[str, str] | None = None
    look: bool = False


GroupAnswer = (
    ConsumerListAnswer | ConnectionsAnswer | HeartbeatsAnswer
    | RunningInfoAnswer | ConsumeStatsAnswer | PollsAnswer | InFlightAnswer | SubscriptionGroupAnswer
)  # fmt: skip
LINES: tuple[type[Line], ...] = (*get_args(GroupAnswer), RouteAnswer, Meta, RoundEnd)
