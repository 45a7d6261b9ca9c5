"""Asking name servers and brokers that are down, hang, answer garbage or close in the middle."""

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from streaming.collector.from_config import tls_of
from streaming.collector.wire import requests
from streaming.collector.wire.acl import Credentials
from streaming.collector.wire.client import JUST_NOW, Breaker, Lane, NameServers, RemotingClient
from streaming.collector.wire.connection import Budget, Connection, Unreachable
from streaming.config.sections import Collector
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup
from tests.collector.certificates import self_signed

TIMEOUT_S = 0.15  # where no answer comes, or its time is the question
PATIENCE_S = 10  # where one comes, with a busy machine
LIST = requests.consumer_list("g")


def cluster(**fields: object) -> FakeCluster:
    return FakeCluster(groups={"g": FakeGroup([FakeClient("c")])}, **fields)  # type: ignore[arg-type]


def asking(
    act: Callable[[FakeCluster, RemotingClient], Awaitable[None]],
    fake: FakeCluster | None = None,
    served_with: ssl.SSLContext | None = None,
    **client: object,
) -> None:
    async def run() -> None:
        async with (fake or cluster()).running(name_servers=2, tls=served_with) as running:
            remoting = RemotingClient(**{"timeout_s": PATIENCE_S, **client})  # type: ignore[arg-type]
            await act(running, remoting)
            await remoting.close()

    asyncio.run(run())


def test_answers_find_their_requests() -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        address = fake.nodes["broker-a"].address
        asked = [client.ask(address, requests.consumer_list(group), PATIENCE_S) for group in ("g", "none") * 20]
        codes = [reply.frame.code for reply in await asyncio.gather(*asked) if reply.frame]
        assert codes == [0, 1] * 20
        assert len(fake.nodes["broker-a"].connections) == 1

    asking(act)


@pytest.mark.parametrize(
    ("manner", "error"),
    [
        ("hang", "no answer within 0.15 s"),
        ("garbage", "not RocketMQ's protocol"),
        ("close", "connection closed by the other side"),
    ],
)
def test_broken_broker_is_an_answer_and_the_connection_is_dropped(manner: str, error: str) -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        node = fake.nodes["broker-a"]
        node.manner = manner
        reply = await client.ask(node.address, LIST, TIMEOUT_S)
        assert reply.frame is None
        assert error in str(reply.error)
        while node.connections:
            await asyncio.sleep(0.01)
        node.manner = "answer"
        client.begin_round()
        assert (await client.ask(node.address, LIST, PATIENCE_S)).frame is not None

    asking(act)


def test_port_where_nobody_listens_is_an_answer() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"

        async def act(fake: FakeCluster, client: RemotingClient) -> None:
            assert "no connection" in str((await client.ask(address, LIST, TIMEOUT_S)).error)
            assert "no connection" in str((await client.ask("not an address", LIST, TIMEOUT_S)).error)

        asking(act)


def test_silent_broker_costs_a_round_one_time_out_and_the_next_one_request() -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        node = fake.nodes["broker-a"]
        node.manner = "hang"
        replies = await asyncio.gather(*(client.ask(node.address, LIST, TIMEOUT_S) for _ in range(300)))
        assert all(reply.frame is None for reply in replies)
        asked = node.requests[38]
        assert asked <= Lane.LISTS.value
        client.begin_round()
        replies = await asyncio.gather(*(client.ask(node.address, LIST, TIMEOUT_S) for _ in range(300)))
        assert node.requests[38] == asked + 1
        assert sum(reply.error == JUST_NOW for reply in replies) == 299
        assert (await client.ask(fake.nodes["broker-b"].address, LIST, PATIENCE_S)).frame is not None

    asking(act)


def test_lanes_do_not_hold_each_other_up() -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        address = fake.nodes["broker-a"].address
        fake.groups["g"].members[0].delay_s = 6 * PATIENCE_S
        infos = [
            asyncio.ensure_future(client.ask(address, requests.running_info("g", "c"), 6 * PATIENCE_S, Lane.CLIENTS))
            for _ in range(20)
        ]
        for _ in range(100 * PATIENCE_S):  # as soon as they are there; a busy machine takes a while
            await asyncio.sleep(0.01)
            if fake.most_at_work.get("c") == Lane.CLIENTS.value:
                break
        assert fake.most_at_work["c"] == Lane.CLIENTS.value
        reply = await client.ask(address, LIST, PATIENCE_S)
        assert reply.frame is not None
        for info in infos:
            info.cancel()

    asking(act)


def test_late_answer_is_nobodys() -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        node = fake.nodes["broker-a"]
        node.manner, node.delay_s = "slow", 0.3
        assert (await client.ask(node.address, LIST, 0.1)).frame is None
        node.manner = "answer"
        client.begin_round()
        reply = await client.ask(node.address, requests.consumer_list("none"), PATIENCE_S)
        assert reply.frame is not None
        assert reply.frame.code == 1

    asking(act)


@pytest.mark.parametrize("gives_up", [False, True])
def test_what_a_silent_broker_has_not_received_is_discarded(gives_up: bool) -> None:
    """RST says that nothing is sent again: neither after a time-out nor when the round is given up."""

    async def run() -> object:
        asked_there = asyncio.Event()
        ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()

        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while await reader.read(1 << 16):
                    asked_there.set()
                ended.set_result(None)
            except OSError as error:
                ended.set_result(type(error))
            finally:
                writer.close()

        async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
            client = RemotingClient(PATIENCE_S)
            host, port = server.sockets[0].getsockname()
            asked = asyncio.create_task(client.ask(f"{host}:{port}", LIST, 60 if gives_up else 1))
            await asyncio.wait_for(asked_there.wait(), PATIENCE_S)
            if gives_up:
                asked.cancel()
            await asyncio.wait([asked])
            await client.close()
            return await asyncio.wait_for(ended, PATIENCE_S)

    assert asyncio.run(run()) is ConnectionResetError


def test_requests_on_a_lost_connection_fail_though_its_transport_has_no_socket_any_more() -> None:
    """The transport does not say either that it closes."""

    class Lost(asyncio.Transport):
        def is_closing(self) -> bool:
            return False

        def write(self, data: object) -> None:
            pass

        def abort(self) -> None:
            pass

    async def run() -> None:
        budget = Budget()
        connection = Connection(budget)
        connection.connection_made(Lost())
        asked = asyncio.create_task(connection.ask(LIST, 60))
        await asyncio.sleep(0)
        connection.data_received(b"\0\0\1\0")  # of an answer that does not come whole
        assert budget.used
        connection.connection_lost(None)
        with pytest.raises(Unreachable, match="closed by the other side"):
            await asyncio.wait_for(asked, 1)
        assert budget.used == 0

    asyncio.run(run())


def test_times_are_those_of_the_request_itself() -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        node = fake.nodes["broker-a"]
        node.manner, node.delay_s = "slow", 0.05
        before = time.time() * 1000
        reply = await client.ask(node.address, LIST, PATIENCE_S)
        after = time.time() * 1000
        assert before - 1 <= reply.ts <= after - 50
        assert 50 <= reply.dur_ms <= after - before + 1

    asking(act)


@pytest.mark.parametrize("manner", ["hang", "garbage", "close"])
def test_next_name_server_is_asked_and_stays_preferred(manner: str) -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        servers = NameServers(client, fake.namesrv, 1)  # the other one must answer within it
        fake.name_servers[0].manner = manner
        for _ in range(3):
            assert (await servers.ask(requests.cluster_info()))[1].frame is not None
        assert fake.name_servers[0].requests[106] == 1
        fake.name_servers[1].manner = "hang"
        _, failed = await servers.ask(requests.cluster_info())
        assert all(address in str(failed.error) for address in fake.namesrv)

    asking(act)


def test_requests_are_signed_where_there_are_credentials() -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        reply = await client.ask(fake.nodes["broker-a"].address, LIST, PATIENCE_S)
        assert reply.frame is not None
        assert reply.frame.code == 0

    asking(act, cluster(required_key="key"), credentials=Credentials("key", "hunter2"))


def test_connections_to_addresses_of_the_past_are_closed() -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        a, b = fake.nodes["broker-a"], fake.nodes["broker-b"]
        for node in (a, b):
            await client.ask(node.address, LIST, PATIENCE_S)
        client.keep_only({b.address})
        while a.connections:
            await asyncio.sleep(0.01)
        assert len(b.connections) == 1

    asking(act)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path, "broker")


def test_tls_is_spoken_and_an_unknown_authority_refused(certificate: Path) -> None:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate)
    trusting = tls_of(Collector(tls=True, tls_ca_file=str(certificate)))
    for tls, is_answered in ((trusting, True), (tls_of(Collector(tls=True)), False)):

        async def act(fake: FakeCluster, client: RemotingClient, is_answered: bool = is_answered) -> None:
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the fake's side of a refusal
            reply = await client.ask(fake.nodes["broker-a"].address, LIST, 5)
            assert (reply.frame is not None) is is_answered
            assert is_answered or "CERTIFICATE_VERIFY_FAILED" in str(reply.error)

        asking(act, served_with=server, timeout_s=5, tls=tls)


def test_a_silent_address_gets_one_request_a_round_until_it_answers() -> None:
    breaker = Breaker()
    breaker.sent()
    breaker.failed()
    assert breaker.is_open
    breaker.begin_round()
    assert not breaker.is_open
    breaker.sent()
    assert breaker.is_open, "no other request until this one is back"
    breaker.answered()
    assert not breaker.is_open
