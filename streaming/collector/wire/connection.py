"""One connection to a name server or broker: many requests at once, each with its own time-out."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from streaming.collector.wire.exchange import Exchange
from streaming.collector.wire.frames import Frame, FrameError
from streaming.collector.wire.read_budget import Budget
from streaming.collector.wire.requests import Request
from streaming.errors import CollectorError
from streaming.networks import Network, is_in

ADDRESSES_AT_MOST = 5


class Unreachable(CollectorError):
    """There was no answer: no connection, none in time, or the connection broke."""


class TimedOut(Unreachable):
    """No connection, or no answer, in time."""


class NotAllowed(Unreachable):
    """The address is outside of the networks in which connections may be made. Nothing was sent."""


class Connection(asyncio.Protocol):
    """A broken connection stays broken: a request then raises Unreachable, and the caller opens a new one."""

    def __init__(self, budget: Budget) -> None:
        self.is_open = False
        self._budget = budget
        self._exchange = Exchange()
        self._transport: Any = None
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._outgoing: list[bytes] = []

    async def ask(self, request: Request, timeout_s: float) -> Frame:
        """The answer. After a time-out the connection is dropped: what else waits on it will not come either."""
        if not self.is_open:
            raise Unreachable("connection closed")
        opaque, data = self._exchange.begin(request)
        loop = asyncio.get_running_loop()
        answer = self._waiting[opaque] = loop.create_future()
        timer = loop.call_later(timeout_s, self._time_out, opaque, timeout_s)
        try:
            self._write(data)
            return await answer
        finally:
            timer.cancel()
            self._waiting.pop(opaque, None)
            self._exchange.end(opaque)

    def close(self, reason: str = "connection closed") -> None:
        """Drop the connection at once, with every request that waits on it."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(Unreachable(reason))
        self._waiting.clear()
        self._budget.note(self, 0)

    def pause(self) -> None:
        """Read nothing for now."""
        self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        self._transport.resume_reading()

    def _write(self, request: bytes) -> None:
        """Together with what else is asked at this moment."""
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outgoing.append(request)

    def _flush(self) -> None:
        requests, self._outgoing = self._outgoing, []
        if self.is_open:
            self._transport.write(b"".join(requests))

    def _time_out(self, opaque: int, timeout_s: float) -> None:
        answer = self._waiting.pop(opaque, None)
        if answer is not None and not answer.done():
            answer.set_exception(TimedOut(f"no answer within {timeout_s:g} s"))
        self.close("dropped, since another request on the connection timed out")

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.is_open = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.close("connection closed by the other side")

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._exchange.receive(data):
                self._take(frame)
            self._budget.note(self, self._exchange.held)
        except FrameError as error:
            self.close(f"not RocketMQ's protocol: {error}")

    def _take(self, frame: Frame) -> None:
        answer = self._waiting.get(frame.opaque)
        if answer is not None and not answer.done():
            answer.set_result(frame)


async def connect(
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
    timeout_s: float,
    budget: Budget,
    allowed: Sequence[Network] = (),
) -> Connection:
    """A connection, with TLS if a context is given. ``allowed`` empty: to any address. Raises Unreachable."""
    loop = asyncio.get_running_loop()

    async def opened() -> Connection:
        address = await _allowed_address(host, port, allowed) if allowed else host
        _, connection = await loop.create_connection(
            lambda: Connection(budget), address, port, ssl=tls, server_hostname=host if tls else None
        )
        return connection

    try:
        connection = await asyncio.wait_for(opened(), timeout_s)
    except (TimeoutError, asyncio.TimeoutError):  # two classes on Python 3.10
        raise TimedOut(f"no connection within {timeout_s:g} s") from None
    except (OSError, ValueError) as error:
        raise Unreachable(f"no connection: {_why(error)}") from None
    return connection


async def _allowed_address(host: str, port: int, allowed: Sequence[Network]) -> str:
    """The first address of the host that is allowed, so that no name leads elsewhere later. Raises NotAllowed."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    for address in addresses:
        if is_in(address, allowed):
            return address
    named = ", ".join(addresses[:ADDRESSES_AT_MOST])
    raise NotAllowed(f"not connected to: {named} is outside of collector.networks")


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "TLS failed"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
