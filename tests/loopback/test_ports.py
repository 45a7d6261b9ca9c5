"""Ports that are given once."""

import socket
from contextlib import ExitStack

import pytest

from streaming.loopback import ports


def test_no_port_is_given_twice_nor_one_that_another_program_has(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = ExitStack()
    monkeypatch.setattr(ports, "_claims", claims)
    with claims:
        first = ports.free_port(*range(1, 6))
    monkeypatch.setattr(ports, "PORTS", range(first + 1, first + 6))
    with claims, socket.create_server(("127.0.0.1", first + 1)), socket.socket(type=socket.SOCK_DGRAM) as claim:
        claim.bind(("127.0.0.1", first + 2))
        assert {ports.free_port(), ports.free_port(), ports.free_port()} == {first + 3, first + 4, first + 5}
