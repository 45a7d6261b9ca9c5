"""Whom the collector connects to: name servers say where brokers are, and anybody may have told them."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.collector.wire.acl import Credentials
from streaming.collector.wire.client import RemotingClient
from streaming.collector.wire.requests import Outcome
from streaming.networks import is_in, networks
from testing.fake_rocketmq import FakeCluster, served, two_clients
from tests.collector.test_client import LIST, asking
from tests.collector.test_cluster_probe import play
from tests.collector.test_collect import config_file

HERE = networks(["127.0.0.1"])
ELSEWHERE = "127.0.0.9"  # of this machine too, so that a connection would succeed


class Listener:
    """Accepts whoever comes, and counts them."""

    def __init__(self) -> None:
        self.socket = socket.create_server((ELSEWHERE, 0))
        self.socket.setblocking(False)
        self.address = f"{ELSEWHERE}:{self.socket.getsockname()[1]}"

    def was_connected_to(self) -> bool:
        try:
            self.socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.socket.close()


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("10.1.2.3", True), ("10.2.0.1", False), ("::ffff:10.1.2.3", True), ("fd00::7", True), ("fd01::7", False),
        ("fe80::1%eth0", True), ("example.com", False), ("", False),
    ],
)  # fmt: skip
def test_networks(address: str, is_allowed: bool) -> None:
    assert is_in(address, networks(["10.1.0.0/16", "fd00::/16", "fe80::/10"])) is is_allowed


def test_address_outside_is_not_connected_to(listener: Listener) -> None:
    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        for _ in range(3):
            reply = await client.ask(listener.address, LIST, 1)
            assert (reply.frame, reply.outcome) == (None, Outcome.NOT_ALLOWED)
            assert reply.error == f"not connected to: {ELSEWHERE} is outside of collector.networks"
        allowed = await client.ask(fake.nodes["broker-a"].address, LIST, 1)
        assert allowed.outcome is Outcome.ANSWERED
        counted = {outcome: count for code, outcome, count in client.counts.counts() if code == LIST.code}
        assert counted[Outcome.NOT_ALLOWED] == 3

    asking(act, allowed=HERE, credentials=Credentials("key", "secret"))
    assert not listener.was_connected_to()


def test_name_is_connected_to_at_the_address_that_was_looked_at(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server of names could answer otherwise a moment later."""
    port = int(listener.address.rpartition(":")[2])
    answers = [[ELSEWHERE], ["127.0.0.1"]]

    async def getaddrinfo(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in answers.pop(0)]

    async def act(fake: FakeCluster, client: RemotingClient) -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
        assert (await client.ask(f"broker.example:{port}", LIST, 1)).outcome is Outcome.NOT_ALLOWED

    asking(act, allowed=HERE)
    assert not listener.was_connected_to()


def test_groups_of_a_broker_outside_are_unknown_and_its_queues_not_healthy(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(told) -> None:  # type: ignore[no-untyped-def]
        told.fake.nodes["broker-b"].address = listener.address
        for _ in range(3):
            await told.round()
        answers = {one.broker_name: one for one in told.marker().brokers}
        assert answers["broker-a"].answered
        assert not answers["broker-b"].answered
        assert f"{ELSEWHERE} is outside of collector.networks" in str(answers["broker-b"].error)

    play(scene, two_clients(), allowed=HERE)
    assert not listener.was_connected_to()
    assert f"not connected to: {ELSEWHERE} is outside of collector.networks" in caplog.text


def test_dry_run_names_who_is_outside(listener: Listener, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake = two_clients()
    with served(fake):
        fake.nodes["broker-b"].address = listener.address
        assert main(["collect", "--config", config_file(tmp_path, fake, 'networks = ["127.0.0.1"]'), "--dry-run"]) == 2
    shown = capsys.readouterr()
    assert f"{ELSEWHERE} is outside of collector.networks" in shown.out + shown.err
    assert not listener.was_connected_to()


def test_name_server_outside_is_refused_at_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text('[collector]\nclusters = { prod = "10.0.0.1:9876; ns.example:9876" }\nnetworks = ["10.1.0.0/16"]\n')
    assert main(["config", "check", str(path)]) == 2
    assert "10.0.0.1 is in none" in capsys.readouterr().out
