"""Replies to answers (`answers`): RocketMQ's bodies, read. What cannot be read is an answer without code."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct, field

from schemas.events import Name
from streaming.collector.wire import answers, queue_tables
from streaming.collector.wire.answers import JavaLong, can_be_name
from streaming.collector.wire.client import Reply
from streaming.collector.wire.fastjson import FastJsonError

T = TypeVar("T")
MASTER_ID = "0"
_DIGITS_OF_A_LONG = 19
_RUNTIME = re.compile(r"(\d{1,9}) days, (\d{1,2}) hours, (\d{1,2}) minutes, (\d{1,2}) seconds")
INNER_PRODUCER = "CLIENT_INNER_PRODUCER"  # MixAll.CLIENT_INNER_PRODUCER_GROUP


class Asked(NamedTuple):
    """Whom a request was about: its cluster, the broker asked, and the group."""

    cluster: str
    broker: str
    group: str

    def common(self, reply: Reply, error: str | None) -> dict[str, Any]:
        return {**self._asdict(), **_outcome(reply, error)}


class _GroupAttributes(Struct, frozen=True):
    lite_bind_topic: str | None = field(name="lite.bind.topic", default=None)  # SubscriptionGroupAttributes of 5.5


class GroupSettings(Struct, frozen=True, rename="camel"):
    """``SubscriptionGroupConfig``, as far as it is of use."""

    group_name: str
    consume_enable: bool | None = None
    consume_message_orderly: bool | None = None
    attributes: _GroupAttributes | None = None

    @property
    def is_lite(self) -> bool:
        """True if it is bound to the lite topics of a parent topic."""
        return self.attributes is not None and bool(self.attributes.lite_bind_topic)


class BrokerRuntime(NamedTuple):
    """``ts``: the broker's clock, epoch ms, to the second below; None: it does not say."""

    version: str
    ts: int | None


class _KVTable(Struct):
    table: dict[str, str] = field(default_factory=dict)


class _ConsumerIds(Struct, rename="camel"):
    consumer_id_list: tuple[Name, ...] | None = None


class _GroupTable(Struct, rename="camel"):
    subscription_group_table: dict[str, GroupSettings] = field(default_factory=dict)


class _Brokers(Struct, rename="camel"):
    broker_addr_table: dict[str, "_Replicas"] = field(default_factory=dict)


class _Replicas(Struct, rename="camel"):
    broker_addrs: dict[str, str] = field(default_factory=dict)


class _Producer(Struct, rename="camel"):
    client_id: str  # any client may write one that cannot be
    remote_address: str = field(name="remoteIP", default="")
    last_update_timestamp: JavaLong = 0


class _Producers(Struct):
    data: dict[str, tuple[_Producer, ...]] = field(default_factory=dict)


class _Mode(Struct):
    mode: str | None = None


class _Modes(Struct, rename="camel"):
    message_request_mode_map: dict[str, dict[str, _Mode]] = field(default_factory=dict)


def consumer_list(reply: Reply, asked: Asked) -> answers.ConsumerListAnswer:
    ids, error = _read(reply, lambda body: _typed(body, _ConsumerIds).consumer_id_list)
    return answers.ConsumerListAnswer(**asked.common(reply, error), ids=ids)


def connections(reply: Reply, asked: Asked) -> answers.ConnectionsAnswer:
    body, error = _read(reply, lambda body: _typed(body, answers.ConsumerConnection))
    return answers.ConnectionsAnswer(**asked.common(reply, error), body=body)


def list_of(connected: answers.ConnectionsAnswer) -> answers.ConsumerListAnswer | None:
    """The list that the broker would give with these connections: an entry for each. None: they name no member.

    ``ConsumerGroupInfo.getAllClientId`` and ``AdminBrokerProcessor.getConsumerConnectionList`` go through the same
    channels. These come in a new order each time, so the list is sorted.
    """
    connections = connected.body.connection_set if connected.body is not None else None
    if not connections:
        return None
    return _list(connected, connected.code, tuple(sorted(one.client_id for one in connections)))


def list_at_proxy(connected: answers.ConnectionsAnswer) -> answers.ConsumerListAnswer:
    """The list of a proxy by its connections, which alone say that it does not know the group.

    (``ConsumerManagerActivity.getConsumerListByGroup`` of 5.3.3 answers with the text of its own exception.)
    """
    is_unknown = connected.code == answers.CONSUMER_NOT_ONLINE
    return list_of(connected) or _list(connected, answers.SYSTEM_ERROR if is_unknown else connected.code)


def _list(
    connected: answers.ConnectionsAnswer, code: int | None, ids: tuple[str, ...] | None = None
) -> answers.ConsumerListAnswer:
    """The answer about connections as one about the list, with this code."""
    return answers.ConsumerListAnswer(
        ts=connected.ts,
        dur_ms=connected.dur_ms,
        cluster=connected.cluster,
        broker=connected.broker,
        group=connected.group,
        code=code,
        error=connected.error,
        refusal=connected.refusal,
        ids=ids,
    )


def topic_route(reply: Reply, cluster: str, topic: str, name_server: str | None = None) -> answers.RouteAnswer:
    body, error = _read(reply, lambda body: _typed(body, answers.TopicRouteData))
    return answers.RouteAnswer(
        cluster=cluster, topic=topic, body=body, name_server=name_server, **_outcome(reply, error)
    )


def running_info(reply: Reply, asked: Asked, client_id: str) -> answers.RunningInfoAnswer:
    fields, error = _read(reply, _running_info)
    return answers.RunningInfoAnswer(**asked.common(reply, error), client_id=client_id, **(fields or {}))


def consume_stats(reply: Reply, asked: Asked, topic: str | None = None) -> answers.ConsumeStatsAnswer:
    table, error = _read(reply, queue_tables.consume_stats)
    return answers.ConsumeStatsAnswer(**asked.common(reply, error), topic=topic, table=table)


def offset(reply: Reply) -> int | None:
    """Reads the offset from an answer to 14 or 30; None: there is no such offset, or no answer."""
    return _number(reply, "offset")


def polls(reply: Reply, asked: Asked, topic: str, queue_id: int) -> answers.PollsAnswer:
    return answers.PollsAnswer(
        **asked.common(reply, None if reply.frame is not None else reply.error),
        topic=topic,
        queue_id=queue_id,
        waiting=_number(reply, "pollingNum", answers.LARGEST_INT),
    )


def _number(reply: Reply, name: str, most: int = answers.LARGEST_LONG) -> int | None:
    """Reads a number from ``extFields`` of a successful answer."""
    if reply.frame is None or reply.frame.code != answers.SUCCESS:
        return None
    return number_in(reply.frame.ext_fields, name, most)


def number_in(fields: object, name: str, most: int = answers.LARGEST_LONG) -> int | None:
    """Reads a number from ``extFields``; None: it is none, or too large for Java's type."""
    return _java_number(str(fields.get(name, "")), most) if isinstance(fields, dict) else None


def _java_number(text: str, most: int = answers.LARGEST_LONG) -> int | None:
    if not text.isdecimal() or len(text) > _DIGITS_OF_A_LONG:
        return None
    number = int(text)
    return number if number <= most else None


def offsets_one_by_one(
    first: Reply, asked: Asked, rows: Iterable[answers.OffsetRow], took_ms: float
) -> answers.ConsumeStatsAnswer:
    """Makes one answer, as to 208, of queues asked one by one. ``first`` was asked first, the last came later."""
    answer = answers.ConsumeStatsAnswer(**asked.common(first, None), table=tuple(rows))
    return msgspec.structs.replace(answer, dur_ms=took_ms, code=answers.SUCCESS, refusal=None)


def broker_addresses(reply: Reply) -> tuple[dict[str, str] | None, str | None]:
    """The address of each broker's master, by broker name; where it has none, of its replica with the lowest id.

    Clients ask a replica for their members too while there is no master. Without an answer that can be read: why.
    """
    brokers, why = replica_addresses(reply)
    if brokers is None:
        return None, why
    return {name: foremost(replicas) for name, replicas in brokers.items() if replicas}, None


def replica_addresses(reply: Reply) -> tuple[dict[str, dict[str, str]] | None, str | None]:
    """The address of each replica of each broker, by broker name and the replica's id. Without an answer: why."""
    brokers, why = _read_or_why(reply, lambda body: _typed(body, _Brokers).broker_addr_table)
    if brokers is None:
        return None, why
    return {name: one.broker_addrs for name, one in brokers.items() if can_be_name(name)}, None


def runtime_info(reply: Reply) -> tuple[BrokerRuntime | None, str | None]:
    """The version and the time of a broker. Without an answer that can be read: why."""
    return _read_or_why(reply, lambda body: _broker_runtime(_typed(body, _KVTable).table))


def group_settings(reply: Reply) -> tuple[dict[str, GroupSettings] | None, str | None]:
    """Every group's settings on one broker, by the group's name. Without an answer that can be read: why."""
    return _read_or_why(reply, lambda body: _typed(body, _GroupTable).subscription_group_table)


def popping_groups(reply: Reply) -> frozenset[tuple[str, str]] | None:
    """(topic, group) for which the broker hands out messages by pop."""
    topics, _ = _read(reply, lambda body: _typed(body, _Modes).message_request_mode_map)
    if topics is None:
        return None
    return frozenset(
        (topic, group)
        for topic, groups in topics.items()
        for group, of in groups.items()
        if of.mode == "POP" and can_be_name(topic)
    )


def last_heartbeats(reply: Reply) -> dict[str, tuple[answers.ChannelHeartbeat, ...]]:
    """The connections of each client of a broker, by its id, each with its last heartbeat. Empty: it does not say.

    A client whose id cannot be a name is left out: it hides no other client.
    """
    producers, _ = _read(reply, lambda body: _typed(body, _Producers).data.get(INNER_PRODUCER, ()))
    found: dict[str, list[answers.ChannelHeartbeat]] = {}
    for one in producers or ():
        if not can_be_name(one.client_id):
            continue
        address = one.remote_address.rpartition("/")[2]  # InetSocketAddress.toString: host name/ip:port
        heartbeat = answers.ChannelHeartbeat(one.client_id, address, one.last_update_timestamp)
        found.setdefault(one.client_id, []).append(heartbeat)
    return {client_id: tuple(heartbeats) for client_id, heartbeats in found.items()}


def heartbeats(reply: Reply, asked: Asked, channels: Iterable[answers.ChannelHeartbeat]) -> answers.HeartbeatsAnswer:
    """Takes the part about some clients out of an answer about all clients of a broker."""
    return answers.HeartbeatsAnswer(**asked.common(reply, None), channels=tuple(channels))


def _outcome(reply: Reply, error: str | None) -> dict[str, Any]:
    code = None if reply.frame is None or error else reply.frame.code
    return {"ts": reply.ts, "dur_ms": reply.dur_ms, "code": code, "error": error, "refusal": reply.refusal}


def _read(reply: Reply, read: Callable[[bytes], T]) -> tuple[T | None, str | None]:
    """Reads a successful answer's body; else returns None, and why where it is not the code that says so."""
    if reply.frame is None:
        return None, reply.error
    if reply.frame.code != answers.SUCCESS:
        return None, None
    try:
        return read(reply.frame.body), None
    except (FastJsonError, msgspec.ValidationError) as error:
        return None, f"unreadable answer: {error}"


def _read_or_why(reply: Reply, read: Callable[[bytes], T]) -> tuple[T | None, str | None]:
    """Reads a successful answer's body; else returns None, and why in words."""
    found, error = _read(reply, read)
    return found, None if found is not None else error or reply.refusal or "unreadable answer"


def _typed(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.convert(queue_tables.loaded(body), kind)


def _broker_runtime(table: Mapping[str, str]) -> BrokerRuntime:
    """``StoreStatsService.getRuntimeInfo``: since when it runs, and for how long, both by its clock."""
    began_ts, ran = _java_number(table.get("bootTimestamp", "")), _RUNTIME.search(table.get("runtime", ""))
    ts = None
    if ran is not None and began_ts is not None:
        days, hours, minutes, seconds = map(int, ran.groups())
        ts = began_ts + (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
    return BrokerRuntime(table.get("brokerVersionDesc", ""), ts)


def foremost(replicas: Mapping[str, str]) -> str:
    if MASTER_ID in replicas:
        return replicas[MASTER_ID]
    return min(replicas.items(), key=lambda item: (not item[0].isdecimal(), item[0].zfill(20)))[1]


def _running_info(body: bytes) -> dict[str, Any]:
    info = queue_tables.running_info(body)
    properties = info.properties
    return {
        "mq_table": info.mq_table,
        "mq_pop_table": info.mq_pop_table,
        "subscriptions": info.subscriptions,
        "start_timestamp": _text(properties.get("PROP_CONSUMER_START_TIMESTAMP")),
        "strategy": _text(properties.get("allocateMessageQueueStrategy")),
        "orderly": _text(properties.get("PROP_CONSUMEORDERLY")),
        "client_rebalance": _text(properties.get("clientRebalance")),
        "message_model": _text(properties.get("messageModel")),
        "consume_type": _text(properties.get("PROP_CONSUME_TYPE")),
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
