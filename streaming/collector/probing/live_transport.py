"""Asks a live cluster: requests to brokers and name servers by sockets, and their replies as answers."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Collection, Coroutine, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from streaming.collector.probing.policy import Policy
from streaming.collector.probing.transport import Timed
from streaming.collector.wire import answers, reply_parsing, requests
from streaming.collector.wire.client import Lane, NameServers, RemotingClient, Reply
from streaming.collector.wire.reply_parsing import Asked
from streaming.collector.wire.requests import Request

RUNNING_INFO_TIMEOUT_MS = 12_000  # a broker gives its client 10 s, then answers 207
NO_ADDRESS = "the name servers do not know the broker"
COUNTS_MS = 10_000  # an answer of a broker about heartbeats, for all groups
Channels = dict[str, tuple[answers.ChannelHeartbeat, ...]]
T = TypeVar("T")
log = logging.getLogger(__name__)


class LiveTransport:
    """The ``Transport`` of one live cluster.

    ``addresses`` of the brokers, and ``proxies``, those of the proxies, are as they are at the moment.
    """

    def __init__(
        self,
        cluster: str,
        client: RemotingClient,
        namesrv: Iterable[str],
        addresses: Mapping[str, str],
        policy: Policy,
        proxies: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.clock = client.clock
        self.servers = NameServers(client, tuple(namesrv), policy.timeout_ms / 1000)
        self.name_servers = self.servers.addresses
        self._cluster, self._client, self._addresses, self._policy = cluster, client, addresses, policy
        self._proxies = proxies
        self._producers: dict[str, tuple[int, asyncio.Task[tuple[Reply, Channels]]]] = {}  # and when they were asked
        self._silent_on_connections: dict[str, set[str]] = {}  # by group, the brokers that did not answer its last 203
        self._background: set[asyncio.Task[None]] = set()
        self._silent_since_s: dict[str, float] = {}  # by broker that has not answered since it was asked

    @property
    def silent_since_s(self) -> float | None:
        """Since when every broker has been silent, by the monotonic clock, though each was asked; None: one is not."""
        since_s = [self._silent_since_s[name] for name in self._addresses if name in self._silent_since_s]
        return None if len(since_s) < len(self._addresses) else max(since_s, default=-math.inf)

    async def ask(self, broker: str, request: Request, lane: Lane = Lane.LISTS, timeout_ms: int = 0) -> Reply:
        """Ask a broker, or a proxy, by its name, at its current address."""
        address = self._addresses.get(broker) or self._proxies.get(broker)
        if address is None:
            return Reply(self.clock.now_ms(), 0, None, NO_ADDRESS, self.clock.steady_ms())
        policy = self._policy
        timeout_ms = timeout_ms or (policy.tables_timeout_ms if lane is Lane.TABLES else policy.timeout_ms)
        if lane is not Lane.CLIENTS:  # a client in trouble makes its broker late
            self._silent_since_s.setdefault(broker, time.monotonic())
        reply = await self._client.ask(address, request, timeout_ms / 1000, lane)
        if reply.frame is not None:
            self._silent_since_s.pop(broker, None)
        return reply

    # --- what is asked of brokers

    async def consumer_list(self, broker: str, group: str) -> answers.ConsumerListAnswer:
        reply = await self.ask(broker, requests.consumer_list(group))
        return reply_parsing.consumer_list(reply, self._asked(broker, group))

    async def members(self, broker: str, group: str) -> tuple[answers.ConsumerListAnswer, answers.ConnectionsAnswer]:
        """A broker makes both of one table. So the list is asked for where connections do not give it.

        It has other threads for lists. Where these alone answer, both are asked for at once. That is noted for each
        group: a broker may answer for all groups but one, whose answer is too long.
        """
        asked, request = self._asked(broker, group), requests.connections(group)
        if broker in self._proxies:  # whose list of an unknown group is an error of its own
            connected = reply_parsing.connections(await self.ask(broker, request), asked)
            return reply_parsing.list_at_proxy(connected), connected
        listed = None
        if broker in self._silent_on_connections.get(group, ()):
            listed, reply = await asyncio.gather(self.consumer_list(broker, group), self.ask(broker, request))
        else:
            reply = await self.ask(broker, request)
        connected = reply_parsing.connections(reply, asked)
        if reply.frame is None:
            self._silent_on_connections.setdefault(group, set()).add(broker)
            return listed or reply_parsing.consumer_list(reply, asked), connected
        self._silent_on_connections.get(group, set()).discard(broker)
        return listed or reply_parsing.list_of(connected) or await self.consumer_list(broker, group), connected

    def forget_group(self, group: str) -> None:
        self._silent_on_connections.pop(group, None)

    async def heartbeats(self, broker: str, group: str, client_ids: Collection[str]) -> answers.HeartbeatsAnswer:
        now = self.clock.steady_ms()
        self._producers = {name: one for name, one in self._producers.items() if now - one[0] < COUNTS_MS}
        if broker not in self._producers:
            self._producers[broker] = now, asyncio.get_running_loop().create_task(self._ask_producers(broker))
        reply, channels = await asyncio.shield(self._producers[broker][1])
        found = [one for client_id in sorted(client_ids) for one in channels.get(client_id, ())]
        return reply_parsing.heartbeats(reply, self._asked(broker, group), found)

    async def _ask_producers(self, broker: str) -> tuple[Reply, Channels]:
        reply = await self.ask(broker, requests.producers(), Lane.TABLES)
        return reply, reply_parsing.last_heartbeats(reply)

    async def consume_stats(
        self, broker: str, group: str, topic: str | None = None
    ) -> Timed[answers.ConsumeStatsAnswer]:
        reply = await self.ask(broker, requests.consume_stats(group, topic or ""), Lane.TABLES)
        return (reply_parsing.consume_stats(reply, self._asked(broker, group), topic), reply.steady_ms)

    async def offsets_one_by_one(
        self, broker: str, group: str, queues: Collection[tuple[str, int]]
    ) -> answers.ConsumeStatsAnswer:
        began = time.perf_counter()
        consumed = await self._ask_all(broker, [requests.consumer_offset(group, *queue) for queue in queues])
        ends = await self._ask_all(broker, [requests.max_offset(*queue) for queue in queues])
        rows = [
            answers.OffsetRow(topic, queue_id, broker, newest, reply_parsing.offset(consumer))
            for (topic, queue_id), consumer, end in zip(queues, consumed, ends, strict=True)
            if (newest := reply_parsing.offset(end)) is not None
        ]
        took_ms = (time.perf_counter() - began) * 1000
        return reply_parsing.offsets_one_by_one(consumed[0], self._asked(broker, group), rows, took_ms)

    async def polls(self, broker: str, group: str, topic: str, queue_id: int) -> answers.PollsAnswer:
        reply = await self.ask(broker, requests.polling_info(group, topic, queue_id), Lane.TABLES)
        return reply_parsing.polls(reply, self._asked(broker, group), topic, queue_id)

    async def running_info(self, broker: str, group: str, client_id: str) -> Timed[answers.RunningInfoAnswer]:
        reply = await self.ask(broker, requests.running_info(group, client_id), Lane.CLIENTS, RUNNING_INFO_TIMEOUT_MS)
        return (reply_parsing.running_info(reply, self._asked(broker, group), client_id), reply.steady_ms)

    async def _ask_all(self, broker: str, asked: Iterable[Request]) -> list[Reply]:
        return await asyncio.gather(*(self.ask(broker, request, Lane.TABLES) for request in asked))

    def _asked(self, broker: str, group: str) -> Asked:
        return Asked(self._cluster, broker, group)

    # --- what is asked of name servers

    async def topic_route(self, topic: str) -> tuple[str | None, answers.RouteAnswer]:
        address, reply = await self.servers.ask(requests.topic_route(topic))
        return address, reply_parsing.topic_route(reply, self._cluster, topic, address)

    async def topic_routes(self, topic: str, name_servers: Collection[str]) -> list[answers.RouteAnswer]:
        replies = await self.servers.ask_besides(requests.topic_route(topic), name_servers)
        return [reply_parsing.topic_route(reply, self._cluster, topic, address) for address, reply in replies.items()]

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
        """One alone needs no task."""
        together = list(works)
        return [await together[0]] if len(together) == 1 else await asyncio.gather(*together)

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
