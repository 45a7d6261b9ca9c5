"""Simulated brokers with groups whose clients come and go, for a real collector to ask."""

import asyncio
import random
import signal
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench.child import Child
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, FakeNode

CLIENTS, QUEUES = 4, 16  # queues on each broker
BROKERS = ("broker-a", "broker-b")
# RocketMQ's own periods (docs/findings.md)
UNREGISTERED_AFTER_S = 120.0  # a broker that sends no heartbeat
ROUTES_POLLED_S = 30.0  # by clients
LOST = 0.1  # of the requests, where some are lost
LATE_S = 9.0  # answers of half of the clients, where these are late


class BrokersPlan(NamedTuple):
    """The groups, and how often one client of one of them starts again, with another process id."""

    groups: int = 50
    deploy_every_s: float = 30.0


class Brokers(Child):
    """The brokers, in a process of their own during the block. ``name_servers`` is asked for once."""

    def __init__(self, plan: BrokersPlan) -> None:
        super().__init__(_serve_in_process, plan)

    def name_servers(self) -> list[str]:
        found: list[str] = self._ours.recv()
        return found

    def do(self, what: str, *arguments: object) -> None:
        """Call this method of the simulation, and wait until it is done."""
        self._ours.send((what, arguments))
        self._ours.recv()


def _serve_in_process(pipe: Connection, plan: BrokersPlan) -> None:
    """Send the address of the name server, and serve until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; this one ends with its pipe
    asyncio.run(_serve(pipe, plan))


async def _serve(pipe: Connection, plan: BrokersPlan) -> None:
    topics = {f"topic-{number}": QUEUES for number in range(plan.groups)}
    groups = {f"group-{number}": FakeGroup() for number in range(plan.groups)}
    cluster = LossyCluster(BROKERS, queues=topics, groups=groups)
    async with cluster.running():
        simulation = Simulation(cluster, plan.groups)
        pipe.send(cluster.namesrv)
        commands = _Commands(pipe, simulation)
        while not commands.ended.is_set():
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(commands.ended.wait(), plan.deploy_every_s)
            simulation.deploy()


class _Commands:
    """What comes by the pipe. ``ended``: it is closed."""

    def __init__(self, pipe: Connection, simulation: "Simulation") -> None:
        self._pipe, self._simulation = pipe, simulation
        self.ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._take)

    def _take(self) -> None:
        try:
            what, arguments = self._pipe.recv()
        except EOFError:
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self.ended.set()
            return
        self._task = asyncio.get_running_loop().create_task(self._do(what, arguments))

    async def _do(self, what: str, arguments: Sequence[object]) -> None:
        await getattr(self._simulation, what)(*arguments)
        self._pipe.send(None)


class LossyCluster(FakeCluster):
    """Brokers that never answer some requests. ``lost``: how many of them, of 1."""

    lost = 0.0

    async def answer(self, node: FakeNode, code: int, fields: dict[str, str]) -> tuple[int, bytes]:
        if random.random() < self.lost:
            await asyncio.Event().wait()
        return await super().answer(node, code, fields)


class Simulation:
    """The groups and what happens to them. Queues are as AVG gives them, at the brokers of the route."""

    def __init__(self, cluster: LossyCluster, groups: int) -> None:
        self._cluster = cluster
        self._ids = [[f"10.1.{number}.{client}@{client + 1}" for client in range(CLIENTS)] for number in range(groups)]
        self._deploys = 0
        self._late: dict[str, float] = {}  # client id -> s
        self._without: set[int] = set()  # groups, of which one queue has no consumer
        self._away: set[str] = set()
        self._rebalance_all()

    def deploy(self) -> None:
        number, client = self._deploys % len(self._ids), self._deploys // len(self._ids) % CLIENTS
        self._deploys += 1
        if number not in self._without:
            ids = self._ids[number]
            ids[client] = f"{ids[client].partition('@')[0]}@{self._deploys + 1000}"
            self._rebalance(number)
        self._forget_requests()

    async def take_queue(self, number: int) -> None:
        """From now on nobody consumes the first queue of this group."""
        self._without.add(number)
        self._rebalance(number)

    async def give_queue_back(self, number: int) -> None:
        self._without.discard(number)
        self._rebalance(number)

    async def broker_away(self, name: str) -> None:
        """It ends. Name servers drop it later, and clients take its queues for gone after that."""
        await self._cluster.nodes[name].stop()
        self._away.add(name)
        asyncio.get_running_loop().call_later(UNREGISTERED_AFTER_S, self._unregister, name)

    async def broker_back(self, name: str) -> None:
        self._away.discard(name)
        await self._cluster.nodes[name].come_back()
        self._cluster.nodes[name].is_registered = True
        asyncio.get_running_loop().call_later(ROUTES_POLLED_S, self._rebalance_all)

    async def name_servers_away(self) -> None:
        for node in self._cluster.name_servers:
            await node.stop()

    async def name_servers_back(self) -> None:
        for node in self._cluster.name_servers:
            await node.come_back()

    async def lose_requests(self, share: float) -> None:
        self._cluster.lost = share

    async def answer_late(self, seconds: float) -> None:
        """Half of the clients of each group, those that run now."""
        self._late = {one: seconds for ids in self._ids for one in ids[::2]}
        self._rebalance_all()

    def _unregister(self, name: str) -> None:
        if name in self._away:
            self._cluster.nodes[name].is_registered = False
            asyncio.get_running_loop().call_later(ROUTES_POLLED_S, self._rebalance_all)

    def _rebalance_all(self) -> None:
        for number in range(len(self._ids)):
            self._rebalance(number)

    def _rebalance(self, number: int) -> None:
        """The number of queues is a multiple of that of the clients, or at most that."""
        topic, retry = f"topic-{number}", f"%RETRY%group-{number}"
        brokers = [name for name in BROKERS if self._cluster.nodes[name].is_registered]
        queues = [(topic, broker, queue) for broker in brokers for queue in range(QUEUES)]
        share = len(queues) // CLIENTS
        members = []
        for index, client_id in enumerate(sorted(self._ids[number])):
            retries = [(retry, broker, 0) for broker in brokers[index : index + 1]]
            owned = [*queues[index * share : (index + 1) * share], *retries]
            members.append(FakeClient(client_id, owned, (topic, retry), delay_s=self._late.get(client_id, 0)))
        if number in self._without:
            members[0].owned = members[0].owned[1:]
        group = self._cluster.groups[f"group-{number}"]
        group.members, group.topics = members, (topic, retry)

    def _forget_requests(self) -> None:
        """What tests count of each request; it would grow for hours."""
        for seen in (self._cluster.asked_s, self._cluster.asked_about, self._cluster.probing):
            seen.clear()
        self._cluster.asked_of_clients.clear()
