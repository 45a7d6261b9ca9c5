"""Simulated brokers with groups whose clients come and go, for a real collector to ask."""

import asyncio
import signal
from contextlib import suppress
from multiprocessing.connection import Connection

from bench.child import Child
from tests.collector.fake_rocketmq import FakeClient, FakeCluster, FakeGroup

GROUPS, CLIENTS, QUEUES = 50, 4, 16  # queues on each broker
DEPLOY_EVERY_S = 30.0  # one client of one group starts again, with another process id
BROKERS = ("broker-a", "broker-b")


class Brokers(Child):
    """The brokers, in a process of their own during the block. ``name_servers`` is asked for once."""

    def __init__(self) -> None:
        super().__init__(_serve_in_process)

    def name_servers(self) -> list[str]:
        found: list[str] = self._ours.recv()
        return found


def _serve_in_process(pipe: Connection) -> None:
    """Send the address of the name server, and serve until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; this one ends with its pipe
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    groups = {f"group-{number}": FakeGroup() for number in range(GROUPS)}
    for number in range(GROUPS):
        _start_clients(groups, number, [f"10.1.{number}.{client}@{client + 1}" for client in range(CLIENTS)])
    topics = {f"topic-{number}": QUEUES for number in range(GROUPS)}
    closed = asyncio.Event()
    asyncio.get_running_loop().add_reader(pipe.fileno(), closed.set)
    async with FakeCluster(BROKERS, queues=topics, groups=groups).running() as cluster:
        pipe.send(cluster.namesrv)
        deploys = 0
        while not closed.is_set():
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(closed.wait(), DEPLOY_EVERY_S)
            _deploy(groups, deploys)
            deploys += 1
            _forget_requests(cluster)


def _deploy(groups: dict[str, FakeGroup], deploys: int) -> None:
    number, client = deploys % GROUPS, deploys // GROUPS % CLIENTS
    ids = [member.client_id for member in groups[f"group-{number}"].members]
    ids[client] = f"{ids[client].partition('@')[0]}@{deploys + 1000}"
    _start_clients(groups, number, ids)


def _start_clients(groups: dict[str, FakeGroup], number: int, client_ids: list[str]) -> None:
    """Each owns the queues that AVG gives it. Their number is a multiple of that of the clients, or at most that."""
    topic = f"topic-{number}"
    retry = f"%RETRY%group-{number}"
    queues = [(topic, broker, queue) for broker in BROKERS for queue in range(QUEUES)]
    retries = [(retry, broker, 0) for broker in BROKERS]
    members = []
    for index, client_id in enumerate(sorted(client_ids)):
        share = len(queues) // len(client_ids)
        owned = [*queues[index * share : (index + 1) * share], *retries[index : index + 1]]
        members.append(FakeClient(client_id, owned, (topic, retry)))
    groups[f"group-{number}"].members = members
    groups[f"group-{number}"].topics = (topic, retry)


def _forget_requests(cluster: FakeCluster) -> None:
    """What tests count of each request; it would grow for hours."""
    cluster.asked_s.clear()
    cluster.asked_about.clear()
    cluster.asked_of_clients.clear()
    cluster.probing.clear()
