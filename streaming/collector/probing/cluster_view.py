"""What all groups of a cluster share: brokers, schedules, and where events go."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from schemas.events import AnyEvent
from streaming.collector.probing.broker_directory import BrokerDirectory
from streaming.collector.probing.client_schedule import ClientSchedule
from streaming.collector.probing.group_directory import GroupDirectory
from streaming.collector.probing.lag import Lags
from streaming.collector.probing.last_heartbeats import LastHeartbeats
from streaming.collector.probing.offset_schedule import OffsetSchedule
from streaming.collector.probing.policy import Policy
from streaming.collector.probing.route_probe import RouteProbe
from streaming.collector.probing.route_schedule import RouteSchedule
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.wire import requests
from streaming.collector.wire.answers import Line
from streaming.collector.wire.client import Lane, RemotingClient, Reply
from streaming.collector.wire.name_servers import NameServers
from streaming.collector.wire.requests import Request

NO_ADDRESS = "the name servers do not know the broker"

Emit = Callable[[list[AnyEvent]], None]
Record = Callable[[Line], None]
log = logging.getLogger(__name__)


class ClusterView:
    """``emit`` gets events in the order of their groups' numbers, ``record`` every answer; neither may block."""

    def __init__(
        self,
        cluster: str,
        policy: Policy,
        client: RemotingClient,
        namesrv: Iterable[str],
        source: str,
        emit: Emit,
        record: Record,
    ) -> None:
        self.cluster = cluster
        self.policy = policy
        self.client = client
        self.clock = client.clock
        self.emit = emit
        self.record = record
        self.brokers = BrokerDirectory()
        self.groups = GroupDirectory(policy)
        self.clients = ClientSchedule(policy)
        self.offsets = OffsetSchedule(policy)
        self.lags = Lags()
        self.routing = RouteSchedule(policy)
        self.translation = ClusterTranslation(cluster, source, policy.confirms)
        self.name_servers = NameServers(client, tuple(namesrv), policy.timeout_ms / 1000)
        self._route_probe = RouteProbe(
            cluster, self.name_servers, self.translation.routes, self.routing, record, self.clock
        )
        self.last_heartbeats = LastHeartbeats(
            lambda broker: self.ask(broker, requests.producers(), Lane.TABLES), self.clock.steady_ms
        )
        self.silent: dict[str, str] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._learning: dict[str, asyncio.Task[None]] = {}

    async def ask(self, broker: str, request: Request, lane: Lane = Lane.LISTS, timeout_ms: int = 0) -> Reply:
        """Ask a broker by its name, at its current address."""
        address = self.brokers.addresses.get(broker)
        if address is None:
            return Reply(self.clock.now_ms(), 0, None, NO_ADDRESS, self.clock.steady_ms())
        policy = self.policy
        timeout_ms = timeout_ms or (policy.tables_timeout_ms if lane is Lane.TABLES else policy.timeout_ms)
        return await self.client.ask(address, request, timeout_ms / 1000, lane)

    def note(self, who: str, failure: str | None) -> None:
        """Say so when somebody no longer gives what is asked of them, and when they do again (``failure`` None)."""
        if failure is not None and who not in self.silent:
            log.warning("%s: no answer of %s: %s", self.cluster, who, failure)
            self.silent[who] = failure
        elif failure is None and self.silent.pop(who, None) is not None:
            log.warning("%s: answers again: %s", self.cluster, who)

    async def learn_due_routes(self, topics: set[str]) -> None:
        """Those of all topics in use that are due; what is known of other topics is forgotten."""
        due = self.routing.choose(topics, self.clock.steady_ms())
        self._route_probe.keep_only(topics)
        await self.learn_routes(due)

    async def learn_routes(self, topics: Iterable[str]) -> None:
        """Ask the name servers for routes, each once however many groups want it at the same time."""
        await asyncio.gather(*(self._once(topic) for topic in list(topics)))

    def in_background(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Work that a round need not wait for."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """Give up what is still on its way."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s: %s", self.cluster, error, exc_info=error)

    async def _once(self, topic: str) -> None:
        task = self._learning.get(topic)
        if task is None:
            task = self._learning[topic] = self.in_background(self._route_probe.learn(topic))
            task.add_done_callback(lambda _: self._learning.pop(topic, None))
        await asyncio.wait([task])
