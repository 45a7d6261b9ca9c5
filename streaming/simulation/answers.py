"""What simulated brokers and name servers answer to a collector, in the types of the real answers."""

from collections.abc import Collection, Iterable

from schemas.identity import MessageQueue
from streaming.collector.wire.answers import (
    CONSUMER_NOT_ONLINE,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
    ChannelHeartbeat,
    ConnectionsAnswer,
    ConsumerListAnswer,
    ConsumeStatsAnswer,
    HeartbeatsAnswer,
    OffsetRow,
    RouteAnswer,
)
from streaming.simulation.broker import Broker
from streaming.simulation.name_server import TopicRoute
from streaming.simulation.process_queue import Progress

JAVA = "JAVA"
NAME_SERVER = "name-server:9876"  # the only address that a collector knows, as where a load balancer stands before them


def topic_route(topic: str, route: TopicRoute | None, ts: int) -> RouteAnswer:
    if route is None:
        return RouteAnswer(ts=ts, code=TOPIC_NOT_EXIST, topic=topic, name_server=NAME_SERVER)
    return RouteAnswer(ts=ts, code=SUCCESS, topic=topic, name_server=NAME_SERVER, body=route.body)


def consumer_list(broker: Broker, group: str, ts: int) -> ConsumerListAnswer:
    if not (broker.is_up and broker.answers_lists):
        return ConsumerListAnswer(ts=ts, broker=broker.name)
    ids = broker.client_ids(group)
    return ConsumerListAnswer(ts=ts, broker=broker.name, code=SUCCESS if ids else SYSTEM_ERROR, ids=ids or None)


def connections(broker: Broker, group: str, ts: int) -> ConnectionsAnswer:
    if not (broker.is_up and broker.answers_lists and broker.answers_connections):
        return ConnectionsAnswer(ts=ts, broker=broker.name)
    known = broker.groups.get(group)
    if known is None:
        return ConnectionsAnswer(ts=ts, broker=broker.name, code=CONSUMER_NOT_ONLINE)
    return ConnectionsAnswer(ts=ts, broker=broker.name, code=SUCCESS, body=known.body())


def heartbeats(broker: Broker, group: str, client_ids: Collection[str], ts: int) -> HeartbeatsAnswer:
    """Clients of other SDKs than Java's have no producer of their own beside each consumer."""
    if not broker.is_up:
        return HeartbeatsAnswer(ts=ts, broker=broker.name)
    known = broker.groups.get(group)
    channels = tuple(
        ChannelHeartbeat(channel.client.client_id, channel.connection.address or "", heartbeat_ts)
        for channel, heartbeat_ts in (known.channels.items() if known is not None else ())
        if channel.client.client_id in client_ids and channel.connection.language == JAVA
    )
    return HeartbeatsAnswer(ts=ts, broker=broker.name, code=SUCCESS, channels=channels)


def consume_stats(broker: Broker, group: str, now: int, ts: int, topic: str | None = None) -> ConsumeStatsAnswer:
    """As it is ``now``; ``ts`` is the collector's time. Without a topic, of those with an offset of the group here."""
    if not broker.is_up:
        return ConsumeStatsAnswer(ts=ts, broker=broker.name, topic=topic)
    rows = [
        _offset_row(progress, broker.tells_pull_offsets, now)
        for name, progresses in broker.progresses_by_topic(group, now).items()
        if (name == topic if topic else any(progress.committed >= 0 for progress in progresses))
        for progress in progresses
    ]
    return ConsumeStatsAnswer(ts=ts, broker=broker.name, code=SUCCESS, topic=topic, table=tuple(rows))


def offsets_one_by_one(
    broker: Broker, group: str, now: int, ts: int, queues: Iterable[tuple[str, int]]
) -> ConsumeStatsAnswer:
    """30 and 14, for (topic, queue id): also where the queue cannot be read.

    Where the group has no offset, it would begin at 0: messages are young here (``queryConsumerOffset``).
    """
    if not broker.is_up:
        return ConsumeStatsAnswer(ts=ts, broker=broker.name)
    rows = []
    for topic, queue_id in queues:
        progress = broker.progress(group, MessageQueue(topic, broker.name, queue_id), now)
        progress.catch_up(now)
        newest, committed = progress.log.max_offset(now), max(0, progress.committed)
        rows.append(OffsetRow(topic, queue_id, broker.name, newest, committed))
    return ConsumeStatsAnswer(ts=ts, broker=broker.name, code=SUCCESS, table=tuple(rows))


def _offset_row(progress: Progress, tells_pull_offsets: bool, now: int) -> OffsetRow:
    """Brokers of 4.x do not tell pull offsets."""
    topic, broker_name, queue_id = progress.log.queue
    newest, committed = progress.log.max_offset(now), max(0, progress.committed)
    pulled = max(committed, progress.pulled) if tells_pull_offsets else None
    return OffsetRow(topic, queue_id, broker_name, newest, committed, pulled)
