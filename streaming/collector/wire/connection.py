"""One connection to a name server or broker: many requests at once, each with its own time-out."""

import asyncio
import socket
import ssl
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from streaming.collector.wire.frames import Frame, FrameError, FrameReader, encode_request
from streaming.collector.wire.requests import Request
from streaming.errors import CollectorError
from streaming.networks import Network, is_in

ADDRESSES_AT_MOST = 5
DISCARD = struct.pack("ii", 1, 0)  # close(2) sends RST, and nothing else any more
MOST_BYTES = 128 * 1024 * 1024  # of answers that are not whole, on all connections together


class Unreachable(CollectorError):
    """There was no answer: no connection, none in time, or the connection broke."""


class TimedOut(Unreachable):
    """No connection, or no answer, in time."""


class NotAllowed(Unreachable):
    """The address is outside of the networks in which connections may be made. Nothing was sent."""


class Budget:
    """Bounds the memory that unfinished answers take on all connections together. ``used``: their bytes.

    Each answer is bounded by its request, but many brokers may send large ones at once. Over the budget, one connection
    goes on reading and the others wait until it is done. So memory is bounded, and some answer always comes to its end.
    TCP makes the other side wait while a connection reads nothing.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.used = 0
        self._most_bytes = most_bytes
        self._held: dict[Connection, int] = {}
        self._paused: list[Connection] = []
        self._going_on: Connection | None = None

    def note(self, reader: "Connection", held: int) -> None:
        """``held``: what the reader holds now; 0 once its answer is whole, or the connection is closed."""
        self.used += held - self._held.pop(reader, 0)
        if held:
            self._held[reader] = held
        elif reader in self._paused:
            self._paused.remove(reader)
        if self._going_on is reader and not held:
            self._going_on = None
        if self.used <= self._most_bytes:
            self._resume_all()
        elif self._going_on is None:
            self._let_one_go_on(reader if held else None)
        elif reader is not self._going_on and held and reader not in self._paused:
            self._paused.append(reader)
            reader.pause()

    def _resume_all(self) -> None:
        paused, self._paused, self._going_on = self._paused, [], None
        for reader in paused:
            reader.resume()

    def _let_one_go_on(self, reader: "Connection | None") -> None:
        """The one given, else the one that waits longest."""
        chosen = reader or next(iter(self._paused), None)
        if chosen is None:
            return
        self._going_on = chosen
        if chosen in self._paused:
            self._paused.remove(chosen)
            chosen.resume()


class _Awaited(NamedTuple):
    """An answer that is waited for; ``most_bytes``: of its body."""

    answer: "asyncio.Future[Frame]"
    most_bytes: int


class Connection(asyncio.Protocol):
    """A broken connection stays broken: a request then raises Unreachable, and the caller opens a new one."""

    def __init__(self, budget: Budget) -> None:
        self.is_open = False
        self._budget = budget
        self._reader = FrameReader()
        self._transport: Any = None
        self._last_opaque = 0
        self._waiting: dict[int, _Awaited] = {}
        self._unanswered = 0
        self._outgoing: list[bytes] = []

    async def ask(self, request: Request, timeout_s: float) -> Frame:
        """The answer. After a time-out the connection is dropped: what else waits on it will not come either."""
        if not self.is_open:
            raise Unreachable("connection closed")
        self._last_opaque += 1
        opaque, loop = self._last_opaque, asyncio.get_running_loop()
        answer: asyncio.Future[Frame] = loop.create_future()
        self._waiting[opaque] = _Awaited(answer, request.most_bytes)
        self._unanswered += 1
        timer = loop.call_later(timeout_s, self._time_out, answer, timeout_s)
        try:
            self._write(encode_request(request.code, opaque, request.fields))
            return await answer
        finally:
            timer.cancel()
            self._waiting.pop(opaque, None)

    def close(self, reason: str = "connection closed") -> None:
        """Drop the connection at once, with every request that waits on it.

        What has not reached the other side is discarded. TCP would send it again for minutes, and a request of this
        collector would come while another one asks.
        """
        self.is_open = False
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(Unreachable(reason))
        self._waiting.clear()
        self._budget.note(self, 0)
        if self._transport is not None:
            if self._unanswered and not self._transport.is_closing():
                self._discard_unsent()
            self._transport.abort()

    def _discard_unsent(self) -> None:
        """A transport that was lost may have no socket any more."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, DISCARD)

    def pause(self) -> None:
        self._transport.pause_reading()

    def resume(self) -> None:
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

    def _time_out(self, answer: "asyncio.Future[Frame]", timeout_s: float) -> None:
        if not answer.done():
            answer.set_exception(TimedOut(f"no answer within {timeout_s:g} s"))
        self.close("dropped, since another request on the connection timed out")

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.is_open = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.close("connection closed by the other side")

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data, max((one.most_bytes for one in self._waiting.values()), default=0)):
                self._take(frame)
            self._budget.note(self, self._reader.held)
        except FrameError as error:
            self.close(f"not RocketMQ's protocol: {error}")

    def _take(self, frame: Frame) -> None:
        """A late answer, and a request that the broker itself sends, are dropped."""
        self._unanswered -= frame.is_response
        waiting = self._waiting.get(frame.opaque)
        if frame.is_response and waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(frame)


async def connect(
    host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float, budget: Budget, allowed: Sequence[Network] = ()
) -> Connection:
    """A connection, with TLS if a context is given. ``allowed`` empty: to any address. Raises Unreachable."""
    loop = asyncio.get_running_loop()

    async def opened() -> Connection:
        address = await allowed_address(host, port, allowed) if allowed else host
        _, connection = await loop.create_connection(
            lambda: Connection(budget), address, port, ssl=tls, server_hostname=host if tls else None
        )
        return connection

    try:
        return await asyncio.wait_for(opened(), timeout_s)
    except TimeoutError:
        raise TimedOut(f"no connection within {timeout_s:g} s") from None
    except (OSError, ValueError) as error:
        raise Unreachable(f"no connection: {why(error)}") from None


async def allowed_address(host: str, port: int, allowed: Sequence[Network]) -> str:
    """The first address of the host that is allowed, so that no name leads elsewhere later. Raises NotAllowed."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    for address in addresses:
        if is_in(address, allowed):
            return address
    named = ", ".join(addresses[:ADDRESSES_AT_MOST])
    raise NotAllowed(f"not connected to: {named} is outside of collector.networks")


def why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "TLS failed"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
