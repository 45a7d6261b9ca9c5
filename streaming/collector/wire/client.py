"""All connections to a cluster. To ask never raises: that there was no answer is an answer too."""

import asyncio
import ssl
import time
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from streaming.collector.wire.acl import Credentials
from streaming.collector.wire.answers import SUCCESS, refusal
from streaming.collector.wire.breaker import Breaker
from streaming.collector.wire.clock import Clock
from streaming.collector.wire.connection import Connection, NotAllowed, TimedOut, Unreachable, connect
from streaming.collector.wire.frames import Frame
from streaming.collector.wire.read_budget import Budget
from streaming.collector.wire.request_counts import Outcome, RequestCounts
from streaming.collector.wire.requests import Request
from streaming.networks import Network
from streaming.secret_mask import masked

JUST_NOW = "not asked: it did not answer a moment ago"


class Lane(Enum):
    """Kinds of requests that must not hold each other up: a connection each, and how many may be on their way.

    Running info waits for clients, in one of the 16 threads that a broker has for all administration: half are
    left to others. Offsets make a broker read its disk.
    """

    LISTS = 64
    TABLES = 4
    CLIENTS = 8


class Reply(NamedTuple):
    """``ts`` is when it was asked, epoch milliseconds. ``frame`` None: no answer, and ``error`` and ``missed`` say how.

    ``steady_ms`` is the same moment by the clock that never steps.
    """

    ts: int
    dur_ms: float
    frame: Frame | None
    error: str | None = None
    steady_ms: int = 0
    missed: Outcome | None = None

    @property
    def refusal(self) -> str | None:
        """The code that refuses, with the remark in short."""
        if self.frame is None or self.frame.code == SUCCESS:
            return None
        remark = self.frame.remark
        return refusal(self.frame.code, remark and masked(remark))

    @property
    def outcome(self) -> Outcome:
        if self.missed is not None:
            return self.missed
        return Outcome.ANSWERED if self.refusal is None else Outcome.REFUSED


class RemotingClient:
    """``timeout_s`` holds for connecting; each request brings its own. ``asked`` counts the requests, ``counts`` what
    came of them. ``allowed``: networks to which connections are made; none: to all.
    """

    def __init__(
        self,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        credentials: Credentials | None = None,
        clock: Clock | None = None,
        allowed: Sequence[Network] = (),
    ) -> None:
        self.asked = 0
        self.counts = RequestCounts()
        self.clock = clock or Clock()
        self._timeout_s = timeout_s
        self._tls = tls
        self._credentials = credentials
        self._allowed = allowed
        self._budget = Budget()
        self._endpoints: dict[tuple[str, Lane], _Endpoint] = {}

    async def ask(self, address: str, request: Request, timeout_s: float, lane: Lane = Lane.LISTS) -> Reply:
        endpoint = self._endpoints.get((address, lane))
        if endpoint is None:
            endpoint = self._endpoints[address, lane] = _Endpoint(
                address, lane, self._tls, self._timeout_s, self._budget, self.clock, self._allowed
            )
        if self._credentials is not None:
            request = request._replace(fields=self._credentials.signed(request.fields))
        self.asked += 1
        reply = await endpoint.ask(request, timeout_s)
        self.counts.add(request.code, reply.outcome, reply.dur_ms / 1000)
        return reply

    def begin_round(self) -> None:
        """An address that did not answer in the last round gets one request, to see if it answers again."""
        for endpoint in self._endpoints.values():
            endpoint.begin_round()

    def keep_only(self, addresses: set[str]) -> None:
        """Close the connections to all other addresses."""
        for address, lane in [key for key in self._endpoints if key[0] not in addresses]:
            self._endpoints.pop((address, lane)).close()

    async def close(self) -> None:
        self.keep_only(set())
        await asyncio.sleep(0)  # transports close at the loop's next turn


class _Endpoint:
    """One lane to one address."""

    def __init__(
        self,
        address: str,
        lane: Lane,
        tls: ssl.SSLContext | None,
        connect_timeout_s: float,
        budget: Budget,
        clock: Clock,
        allowed: Sequence[Network],
    ) -> None:
        self._allowed = allowed
        self._clock = clock
        self._host, _, port = address.rpartition(":")
        self._host = self._host.strip("[]")
        self._port = int(port) if port.isdecimal() else 0
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s
        self._budget = budget
        self._room = asyncio.Semaphore(lane.value)
        self._connecting = asyncio.Lock()
        self._connection: Connection | None = None
        self._breaker = Breaker()

    async def ask(self, request: Request, timeout_s: float) -> Reply:
        async with self._room:
            if self._breaker.is_open:
                return Reply(self._clock.now_ms(), 0, None, JUST_NOW, self._clock.steady_ms(), Outcome.NOT_SENT)
            self._breaker.sent()
            ts, steady_ms, started = self._clock.now_ms(), self._clock.steady_ms(), time.perf_counter()
            try:
                connection = await self._connected()
                ts, steady_ms, started = self._clock.now_ms(), self._clock.steady_ms(), time.perf_counter()
                frame = await connection.ask(request, timeout_s)
            except NotAllowed as error:
                return Reply(ts, 0, None, str(error), steady_ms, Outcome.NOT_ALLOWED)
            except Unreachable as error:
                self._breaker.failed()
                return Reply(ts, _ms_since(started), None, str(error), steady_ms, _missed(error))
            self._breaker.answered()
            return Reply(ts, _ms_since(started), frame, None, steady_ms)

    def begin_round(self) -> None:
        self._breaker.begin_round()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._breaker.is_silent:  # while this one waited to connect
                raise Unreachable(JUST_NOW)
            if self._connection is None or not self._connection.is_open:
                self._connection = await connect(
                    self._host, self._port, self._tls, self._connect_timeout_s, self._budget, self._allowed
                )
            return self._connection


def _missed(error: Unreachable) -> Outcome:
    if str(error) == JUST_NOW:
        return Outcome.NOT_SENT
    return Outcome.TIMED_OUT if isinstance(error, TimedOut) else Outcome.UNREACHABLE


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
