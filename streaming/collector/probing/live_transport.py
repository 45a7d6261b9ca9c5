"""Asks a live cluster: requests to brokers and name servers by sockets, and their replies as answers."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from streaming.collector.probing.policy import Policy
from streaming.collector.probing.transport import Timed
from streaming.collector.wire import bodies, requests
from streaming.collector.wire.answers import (
    ChannelHeartbeat,
    ConnectionsAnswer,
    ConsumerListAnswer,
    ConsumeStatsAnswer,
    HeartbeatsAnswer,
    OffsetRow,
    RouteAnswer,
    RunningInfoAnswer,
)
from streaming.collector.wire.bodies import Asked
from streaming.collector.wire.client import Lane, NameServers, RemotingClient, Reply
from streaming.collector.wire.requests import Request

RUNNING_INFO_TIMEOUT_MS = 12_000  # a broker gives its client 10 s, then answers 207
NO_ADDRESS = "the name servers do not know the broker"
COUNTS_MS = 10_000  # an answer about heartbeats
Channels = dict[str, tuple[ChannelHeartbeat, ...]]
T = TypeVar("T")
log = logging.getLogger(__name__)


class LastHeartbeats:
    """When the clients of each broker last sent heartbeats. For a while one answer of a broker serves all groups.

    ``ask``: asks a broker for its producers, by its name.
    """

    def __init__(self, ask: Callable[[str], Awaitable[Reply]], steady_ms: Callable[[], int]) -> None:
        self._ask, self._steady_ms = ask, steady_ms
        self._asked: dict[str, tuple[int, asyncio.Task[tuple[Reply, Channels]]]] = {}

    async def of(self, broker: str) -> tuple[Reply, Channels]:
        """The reply, and the connections by client id; none where the broker does not say."""
        now = self._steady_ms()
        self._asked = {name: one for name, one in self._asked.items() if now - one[0] < COUNTS_MS}
        if broker not in self._asked:
            self._asked[broker] = now, asyncio.get_running_loop().create_task(self._read(broker))
        return await asyncio.shield(self._asked[broker][1])

    async def _read(self, broker: str) -> tuple[Reply, Channels]:
        reply = await self._ask(broker)
        return reply, bodies.last_heartbeats(reply)


class LiveTransport:
    """The ``Transport`` of one live cluster. ``addresses`` of the brokers are as they are at the moment."""

    def __init__(
        self, cluster: str, client: RemotingClient, namesrv: Iterable[str], addresses: Mapping[str, str], policy: Policy
    ) -> None:
        self.clock = client.clock
        self.servers = NameServers(client, tuple(namesrv), policy.timeout_ms / 1000)
        self.name_servers = self.servers.addresses
        self._cluster, self._client, self._addresses, self._policy = cluster, client, addresses, policy
        self._last_heartbeats = LastHeartbeats(
            lambda broker: self.ask(broker, requests.producers(), Lane.TABLES), self.clock.steady_ms
        )
        self._background: set[asyncio.Task[None]] = set()

    async def ask(self, broker: str, request: Request, lane: Lane = Lane.LISTS, timeout_ms: int = 0) -> Reply:
        """Ask a broker by its name, at its current address."""
        address = self._addresses.get(broker)
        if address is None:
            return Reply(self.clock.now_ms(), 0, None, NO_ADDRESS, self.clock.steady_ms())
        policy = self._policy
        timeout_ms = timeout_ms or (policy.tables_timeout_ms if lane is Lane.TABLES else policy.timeout_ms)
        return await self._client.ask(address, request, timeout_ms / 1000, lane)

    # --- what is asked of brokers

    async def consumer_list(self, broker: str, group: str) -> ConsumerListAnswer:
        reply = await self.ask(broker, requests.consumer_list(group))
        return bodies.consumer_list(reply, self._asked(broker, group))

    async def members(self, broker: str, group: str) -> tuple[ConsumerListAnswer, ConnectionsAnswer]:
        listed, connected = await asyncio.gather(
            self.consumer_list(broker, group), self.ask(broker, requests.connections(group))
        )
        return listed, bodies.connections(connected, self._asked(broker, group))

    async def heartbeats(self, broker: str, group: str, client_ids: Collection[str]) -> HeartbeatsAnswer:
        reply, channels = await self._last_heartbeats.of(broker)
        found = [one for client_id in sorted(client_ids) for one in channels.get(client_id, ())]
        return bodies.heartbeats(reply, self._asked(broker, group), found)

    async def consume_stats(self, broker: str, group: str, topic: str | None = None) -> Timed[ConsumeStatsAnswer]:
        reply = await self.ask(broker, requests.consume_stats(group, topic or ""), Lane.TABLES)
        return Timed(bodies.consume_stats(reply, self._asked(broker, group), topic), reply.steady_ms)

    async def offsets_one_by_one(
        self, broker: str, group: str, queues: Collection[tuple[str, int]]
    ) -> ConsumeStatsAnswer:
        began = time.perf_counter()
        consumed = await self._ask_all(broker, [requests.consumer_offset(group, *queue) for queue in queues])
        ends = await self._ask_all(broker, [requests.max_offset(*queue) for queue in queues])
        rows = [
            OffsetRow(topic, queue_id, broker, newest, bodies.offset(consumer))
            for (topic, queue_id), consumer, end in zip(queues, consumed, ends, strict=True)
            if (newest := bodies.offset(end)) is not None
        ]
        took_ms = (time.perf_counter() - began) * 1000
        return bodies.offsets_one_by_one(consumed[0], self._asked(broker, group), rows, took_ms)

    async def running_info(self, broker: str, group: str, client_id: str) -> Timed[RunningInfoAnswer]:
        reply = await self.ask(broker, requests.running_info(group, client_id), Lane.CLIENTS, RUNNING_INFO_TIMEOUT_MS)
        return Timed(bodies.running_info(reply, self._asked(broker, group), client_id), reply.steady_ms)

    async def _ask_all(self, broker: str, asked: Iterable[Request]) -> list[Reply]:
        return await asyncio.gather(*(self.ask(broker, request, Lane.TABLES) for request in asked))

    def _asked(self, broker: str, group: str) -> Asked:
        return Asked(self._cluster, broker, group)

    # --- what is asked of name servers

    async def topic_route(self, topic: str) -> tuple[str | None, RouteAnswer]:
        address, reply = await self.servers.ask(requests.topic_route(topic))
        return address, bodies.topic_route(reply, self._cluster, topic, address)

    async def topic_routes(self, topic: str, name_servers: Collection[str]) -> list[RouteAnswer]:
        replies = await self.servers.ask_besides(requests.topic_route(topic), name_servers)
        return [bodies.topic_route(reply, self._cluster, topic, address) for address, reply in replies.items()]

    # --- how to wait

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._done)
        return task

    async def wait(self, works: Collection[Awaitable[None]], at_most_ms: int | None = None) -> None:
        if works:
            at_most_s = None if at_most_ms is None else at_most_ms / 1000
            await asyncio.wait([asyncio.ensure_future(work) for work in works], timeout=at_most_s)

    async def all(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        return await asyncio.gather(*works)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s: %s", self._cluster, error, exc_info=error)

    async def close(self) -> None:
        """Give up what is still on its way."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._client.close()
