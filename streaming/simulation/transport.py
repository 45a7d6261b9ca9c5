"""The transport under the live probes: it answers a collector's requests from a simulated fleet, in virtual time."""

from collections.abc import Awaitable, Collection, Coroutine, Iterable
from random import Random
from typing import Any, TypeVar

from schemas.identity import MessageQueue
from streaming.collector.probing.transport import Timed
from streaming.collector.wire import answers, reply_parsing
from streaming.simulation.broker import Broker
from streaming.simulation.fleet import Fleet
from streaming.simulation.name_server import TopicRoute
from streaming.simulation.process_queue import Client, Progress

JAVA = "JAVA"
NAME_SERVER = "name-server:9876"  # the collector knows one address, as with a load balancer in front
TIMEOUT_MS = 10_000  # the time a broker waits for its client's answer before it answers 207
LISTS_MS = 20  # from the beginning of a round until a broker reads its list
LIST_JITTER_MS = 40
ASKS_MS, ENDS_MS = 100, 600  # from the beginning of a round until its clients are asked, and until it ends
PROXY_MS = 10  # until a proxy answers
PROXY_TIMEOUT_MS = 3_000  # ``[collector] timeout_seconds``
TABLES_MS = 60  # longest time until a broker reads offsets or heartbeats
CLIENT_MS = (5, 250)  # time until a client answers
T = TypeVar("T")


class CollectorClock:
    """The clock of a collector's machine. It can be set back; ``follow`` notices this between two rounds."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._is_back_ms = self._goes_back_ms = 0

    def steady_ms(self) -> int:
        return self._fleet.now

    def now_ms(self) -> int:
        return self._fleet.now - self._is_back_ms

    def set_back(self, by_ms: int) -> None:
        self._goes_back_ms += by_ms

    def follow(self) -> int:
        """Return by how many ms it was set back since the last call."""
        moved_ms, self._goes_back_ms = self._goes_back_ms, 0
        self._is_back_ms += moved_ms
        return moved_ms


class SimulatedTransport:
    """The ``Transport`` of one collector. ``loses_reports``: the share of running infos without an answer.

    ``list_jitter_ms``: the time at which lists are read varies by less than this between rounds. All else has fixed
    times in a round, so that rounds of a group at rest are equal. Clients are asked without waiting for offsets. The
    round ends ``ENDS_MS`` after it began, or when the wait for a silent client is over.
    """

    def __init__(self, fleet: Fleet, source: str, random: Random, loses_reports: float, list_jitter_ms: int) -> None:
        self.clock = CollectorClock(fleet)
        self.name_servers = (NAME_SERVER,)
        self.lost_reports: list[int] = []  # times of lost running infos
        self.timeouts: list[tuple[int, str]] = []  # (time, client id)
        self._fleet, self._source, self._random = fleet, source, random
        self._loses_reports, self._list_jitter_ms = loses_reports, list_jitter_ms
        self._asks_clients = False

    def begin_round(self) -> None:
        self._asks_clients = False

    async def members(self, broker: str, group: str) -> tuple[answers.ConsumerListAnswer, answers.ConnectionsAnswer]:
        if broker in self._fleet.proxies:
            return await self._members_at_proxy(broker)
        delay_ms = LISTS_MS + self._random.randrange(self._list_jitter_ms)
        await self._fleet.clock.sleep(delay_ms)
        asked, ts = self._fleet.brokers[broker], self.clock.now_ms()
        found = _consumer_list(asked, group, ts), _connections(asked, group, ts)
        await self._fleet.clock.sleep(ASKS_MS - delay_ms)
        return found

    async def _members_at_proxy(self, name: str) -> tuple[answers.ConsumerListAnswer, answers.ConnectionsAnswer]:
        proxy, ts = self._fleet.proxies[name], self.clock.now_ms()
        is_late = proxy.is_up and not proxy.answers
        dur_ms = PROXY_TIMEOUT_MS if is_late else PROXY_MS
        await self._fleet.clock.sleep(dur_ms)
        if is_late or not proxy.is_up:
            answer = answers.ConnectionsAnswer(ts=ts, dur_ms=dur_ms, broker=name)
        else:
            body = proxy.body(self._fleet.now)
            code = answers.CONSUMER_NOT_ONLINE if body is None else answers.SUCCESS
            answer = answers.ConnectionsAnswer(ts=ts, dur_ms=dur_ms, broker=name, code=code, body=body)
        return reply_parsing.list_at_proxy(answer), answer

    async def heartbeats(self, broker: str, group: str, client_ids: Collection[str]) -> answers.HeartbeatsAnswer:
        await self._fleet.clock.sleep(self._random.randrange(TABLES_MS))
        return _heartbeats(self._fleet.brokers[broker], group, client_ids, self.clock.now_ms())

    async def consume_stats(
        self, broker: str, group: str, topic: str | None = None
    ) -> Timed[answers.ConsumeStatsAnswer]:
        if topic is None:
            await self._fleet.clock.sleep(self._random.randrange(TABLES_MS))
        now, ts = self._fleet.now, self.clock.now_ms()
        return (_consume_stats(self._fleet.brokers[broker], group, now, ts, topic), now)

    async def offsets_one_by_one(
        self, broker: str, group: str, queues: Collection[tuple[str, int]]
    ) -> answers.ConsumeStatsAnswer:
        asked = self._fleet.brokers[broker]
        return _offsets_one_by_one(asked, group, self._fleet.now, self.clock.now_ms(), queues)

    async def polls(self, broker: str, group: str, topic: str, queue_id: int) -> answers.PollsAnswer:
        """Those of gRPC clients, all of them at any queue."""
        asked, ts = self._fleet.brokers[broker], self.clock.now_ms()
        code, waiting = _polls(asked, self._fleet.waiting_polls(broker, topic))
        return answers.PollsAnswer(
            ts=ts, broker=broker, group=group, topic=topic, queue_id=queue_id, code=code, waiting=waiting
        )

    async def running_info(self, broker: str, group: str, client_id: str) -> Timed[answers.RunningInfoAnswer]:
        now, ts = self._fleet.now, self.clock.now_ms()
        if self._loses_reports and self._random.random() < self._loses_reports:
            self.lost_reports.append(now)
            return (answers.RunningInfoAnswer(ts=ts, broker=broker, client_id=client_id), now)
        client = self._fleet.brokers[broker].find_client(group, client_id)
        if client is not None and client.answers:
            dur_ms = self._random.randrange(*CLIENT_MS)
            await self._fleet.clock.sleep(dur_ms)
            return (_running_info(client, broker, ts, dur_ms), now)
        await self._fleet.clock.sleep(TIMEOUT_MS)
        self.timeouts.append((self._fleet.now, client_id))
        answer = answers.RunningInfoAnswer(
            ts=ts, dur_ms=TIMEOUT_MS, broker=broker, client_id=client_id, code=answers.CONSUME_MSG_TIMEOUT
        )
        return (answer, now)

    async def topic_route(self, topic: str) -> tuple[str | None, answers.RouteAnswer]:
        await self._fleet.clock.sleep(0)
        route = self._fleet.route(self._source, topic)
        return NAME_SERVER, _topic_route(topic, route, self.clock.now_ms())

    async def topic_routes(self, topic: str, name_servers: Collection[str]) -> list[answers.RouteAnswer]:
        return []

    def start(self, work: Coroutine[Any, Any, None]) -> Awaitable[None]:
        return self._fleet.clock.begin(work)

    async def wait(self, works: Collection[Awaitable[None]], at_most_ms: int | None = None) -> None:
        clock = self._fleet.clock
        if at_most_ms is None:
            await clock.wait(works)
        elif not self._asks_clients:  # the round waits for offsets here; in the simulation their reading only begins
            self._asks_clients = True
        else:
            await clock.sleep(ENDS_MS - ASKS_MS)
            await clock.wait(works, at_most_ms - (ENDS_MS - ASKS_MS))

    async def all(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        return await self._fleet.clock.all(works)


def _running_info(client: Client, broker: str, ts: int, dur_ms: int) -> answers.RunningInfoAnswer:
    """The running info; without content if the client has died in the meantime."""
    if not client.answers:
        return answers.RunningInfoAnswer(ts=ts, dur_ms=dur_ms, broker=broker, client_id=client.client_id)
    return client.running_info(broker, ts, dur_ms)


def _topic_route(topic: str, route: TopicRoute | None, ts: int) -> answers.RouteAnswer:
    if route is None:
        return answers.RouteAnswer(ts=ts, code=answers.TOPIC_NOT_EXIST, topic=topic, name_server=NAME_SERVER)
    return answers.RouteAnswer(ts=ts, code=answers.SUCCESS, topic=topic, name_server=NAME_SERVER, body=route.body)


def _consumer_list(broker: Broker, group: str, ts: int) -> answers.ConsumerListAnswer:
    if not (broker.is_up and broker.answers_lists):
        return answers.ConsumerListAnswer(ts=ts, broker=broker.name)
    ids = broker.client_ids(group)
    code = answers.SUCCESS if ids else answers.SYSTEM_ERROR
    return answers.ConsumerListAnswer(ts=ts, broker=broker.name, code=code, ids=ids or None)


def _connections(broker: Broker, group: str, ts: int) -> answers.ConnectionsAnswer:
    if not (broker.is_up and broker.answers_lists and broker.answers_connections):
        return answers.ConnectionsAnswer(ts=ts, broker=broker.name)
    known = broker.groups.get(group)
    if known is None:
        return answers.ConnectionsAnswer(ts=ts, broker=broker.name, code=answers.CONSUMER_NOT_ONLINE)
    return answers.ConnectionsAnswer(ts=ts, broker=broker.name, code=answers.SUCCESS, body=known.body())


def _heartbeats(broker: Broker, group: str, client_ids: Collection[str], ts: int) -> answers.HeartbeatsAnswer:
    """The heartbeats. Only the Java SDK has a producer of its own beside each consumer."""
    if not broker.is_up:
        return answers.HeartbeatsAnswer(ts=ts, broker=broker.name)
    known = broker.groups.get(group)
    channels = tuple(
        answers.ChannelHeartbeat(channel.client.client_id, channel.connection.address or "", heartbeat_ts)
        for channel, heartbeat_ts in (known.channels.items() if known is not None else ())
        if channel.client.client_id in client_ids and channel.connection.language == JAVA
    )
    return answers.HeartbeatsAnswer(ts=ts, broker=broker.name, code=answers.SUCCESS, channels=channels)


def _consume_stats(broker: Broker, group: str, now: int, ts: int, topic: str | None) -> answers.ConsumeStatsAnswer:
    """The offsets at ``now``; ``ts`` is the collector's time. No topic: all topics with an offset of the group here."""
    if not broker.is_up:
        return answers.ConsumeStatsAnswer(ts=ts, broker=broker.name, topic=topic)
    rows = [
        _offset_row(progress, broker.tells_pull_offsets, now)
        for name, progresses in broker.progresses_by_topic(group, now).items()
        if (name == topic if topic else any(progress.committed >= 0 for progress in progresses))
        for progress in progresses
    ]
    return answers.ConsumeStatsAnswer(ts=ts, broker=broker.name, code=answers.SUCCESS, topic=topic, table=tuple(rows))


def _polls(broker: Broker, waiting: int | None) -> tuple[int | None, int | None]:
    """The code and the number."""
    if not broker.is_up:
        return None, None
    if waiting is None:
        return answers.REQUEST_CODE_NOT_SUPPORTED, None
    return (answers.SUCCESS, waiting) if broker.consume_enable else (answers.NO_PERMISSION, None)


def _offsets_one_by_one(
    broker: Broker, group: str, now: int, ts: int, queues: Iterable[tuple[str, int]]
) -> answers.ConsumeStatsAnswer:
    """The answers to requests 30 and 14 for (topic, queue id), also of queues that cannot be read.

    If the group has no offset, the answer is 0: messages are young here (``queryConsumerOffset``).
    """
    if not broker.is_up:
        return answers.ConsumeStatsAnswer(ts=ts, broker=broker.name)
    rows = []
    for topic, queue_id in queues:
        progress = broker.progress(group, MessageQueue(topic, broker.name, queue_id), now)
        progress.catch_up(now)
        newest, committed = progress.log.max_offset(now), max(0, progress.committed)
        rows.append(answers.OffsetRow(topic, queue_id, broker.name, newest, committed))
    return answers.ConsumeStatsAnswer(ts=ts, broker=broker.name, code=answers.SUCCESS, table=tuple(rows))


def _offset_row(progress: Progress, tells_pull_offsets: bool, now: int) -> answers.OffsetRow:
    """One row. Brokers of 4.x do not report pull offsets."""
    topic, broker_name, queue_id = progress.log.queue
    newest, committed = progress.log.max_offset(now), max(0, progress.committed)
    pulled = max(committed, progress.pulled) if tells_pull_offsets else None
    return answers.OffsetRow(topic, queue_id, broker_name, newest, committed, pulled)
