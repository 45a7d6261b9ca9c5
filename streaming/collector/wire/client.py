"""All connections to a cluster, and its name servers, asked in turn. To ask never raises: no answer is one, too."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import Enum, auto
from functools import partial
from typing import NamedTuple

from streaming.collector.wire.acl import Credentials
from streaming.collector.wire.answers import REQUEST_CODE_NOT_SUPPORTED, SUCCESS, refusal
from streaming.collector.wire.clock import Clock
from streaming.collector.wire.connection import Budget, Connection, NotAllowed, TimedOut, Unreachable, connect
from streaming.collector.wire.frames import Frame
from streaming.collector.wire.requests import Outcome, Request, RequestCounts
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


class _State(Enum):
    ANSWERS = auto()
    SILENT = auto()  # it did not answer in this round
    MAY_TRY = auto()  # it did not answer in the last round: one request may show that it does again
    TRYING = auto()  # that request is on its way


class Breaker:
    """Whether one lane to a silent address may be used: for one request a round, until it answers again."""

    def __init__(self) -> None:
        self._state = _State.ANSWERS

    @property
    def is_open(self) -> bool:
        return self._state in (_State.SILENT, _State.TRYING)

    @property
    def is_silent(self) -> bool:
        return self._state is _State.SILENT

    def begin_round(self) -> None:
        if self.is_open:
            self._state = _State.MAY_TRY

    def sent(self) -> None:
        if self._state is _State.MAY_TRY:
            self._state = _State.TRYING

    def answered(self) -> None:
        self._state = _State.ANSWERS

    def failed(self) -> None:
        self._state = _State.SILENT


class RemotingClient:
    """``timeout_s`` holds for connecting; each request brings its own. ``asked`` counts the requests, ``counts`` what
    came of them. ``allowed``: networks to which connections are made; none: to all. Before each request is sent,
    ``may_ask`` is asked. Once it says no, ``ask`` raises CancelledError: the round is given up.
    """

    def __init__(
        self,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        credentials: Credentials | None = None,
        clock: Clock | None = None,
        allowed: Sequence[Network] = (),
        may_ask: Callable[[], bool] = lambda: True,
    ) -> None:
        self.asked = 0
        self.counts = RequestCounts()
        self.clock = clock or Clock()
        self._credentials = credentials
        self._may_ask = may_ask
        self._connect = partial(connect, tls=tls, timeout_s=timeout_s, budget=Budget(), allowed=allowed)
        self._endpoints: dict[tuple[str, Lane], _Endpoint] = {}

    async def ask(self, address: str, request: Request, timeout_s: float, lane: Lane = Lane.LISTS) -> Reply:
        _check(self._may_ask)
        endpoint = self._endpoints.get((address, lane))
        if endpoint is None:
            endpoint = self._endpoints[address, lane] = _Endpoint(
                address, lane, self.clock, self._connect, self._may_ask
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
            endpoint.breaker.begin_round()

    def keep_only(self, addresses: set[str]) -> None:
        """Close the connections to all other addresses."""
        for address, lane in [key for key in self._endpoints if key[0] not in addresses]:
            self._endpoints.pop((address, lane)).close()

    async def close(self) -> None:
        self.keep_only(set())
        await asyncio.sleep(0)  # transports close at the loop's next turn


class _Endpoint:
    """One lane to one address. ``connect`` makes a connection to a host and port."""

    def __init__(
        self,
        address: str,
        lane: Lane,
        clock: Clock,
        connect: Callable[[str, int], Awaitable[Connection]],
        may_ask: Callable[[], bool],
    ) -> None:
        self._may_ask = may_ask
        host, _, port = address.rpartition(":")
        self._host, self._port = host.strip("[]"), int(port) if port.isdecimal() else 0
        self._clock, self._connect = clock, connect
        self._room, self._connecting = asyncio.Semaphore(lane.value), asyncio.Lock()
        self._connection: Connection | None = None
        self.breaker = Breaker()

    async def ask(self, request: Request, timeout_s: float) -> Reply:
        async with self._room:
            if self.breaker.is_open:
                return Reply(self._clock.now_ms(), 0, None, JUST_NOW, self._clock.steady_ms(), Outcome.NOT_SENT)
            self.breaker.sent()
            ts, steady_ms, started = self._clock.now_ms(), self._clock.steady_ms(), time.perf_counter()
            try:
                connection = await self._connected()
                _check(self._may_ask)
                ts, steady_ms, started = self._clock.now_ms(), self._clock.steady_ms(), time.perf_counter()
                frame = await connection.ask(request, timeout_s)
            except NotAllowed as error:
                return Reply(ts, 0, None, str(error), steady_ms, Outcome.NOT_ALLOWED)
            except Unreachable as error:
                self.breaker.failed()
                return Reply(ts, _ms_since(started), None, str(error), steady_ms, _missed(error))
            self.breaker.answered()
            return Reply(ts, _ms_since(started), frame, None, steady_ms)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def _connected(self) -> Connection:
        if self._connection is not None and self._connection.is_open and not self.breaker.is_silent:
            return self._connection
        async with self._connecting:
            if self.breaker.is_silent:  # while this one waited to connect
                raise Unreachable(JUST_NOW)
            if self._connection is None or not self._connection.is_open:
                self._connection = await self._connect(self._host, self._port)
            return self._connection


def _missed(error: Unreachable) -> Outcome:
    if str(error) == JUST_NOW:
        return Outcome.NOT_SENT
    return Outcome.TIMED_OUT if isinstance(error, TimedOut) else Outcome.UNREACHABLE


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


PATIENCE_S = 1  # with those that are asked besides the first that answers
# Brokers and proxies do not know requests to name servers (``NettyRemotingAbstract.processRequestCommand``).
NO_NAME_SERVER = "this is no name server, but perhaps a broker or proxy; name servers listen on port 9876 as a rule"


class NameServers:
    """Asks several name servers: first the one that answered last, then the others."""

    def __init__(self, client: RemotingClient, addresses: Sequence[str], timeout_s: float) -> None:
        self.addresses, self._client, self._timeout_s = tuple(addresses), client, timeout_s
        self._preferred = 0

    async def ask(self, request: Request) -> tuple[str | None, Reply]:
        """The first answer and whose it is; if nobody gives one, the last failure, with every name server's reason."""
        failures = []
        first = self._preferred
        for step in range(len(self.addresses)):
            number = (first + step) % len(self.addresses)
            reply = await self._client.ask(self.addresses[number], request, self._timeout_s)
            if reply.frame is not None and reply.frame.code != REQUEST_CODE_NOT_SUPPORTED:
                self._preferred = number
                return self.addresses[number], reply
            why = reply.error if reply.frame is None else f"{reply.refusal}; {NO_NAME_SERVER}"
            failures.append(f"{self.addresses[number]}: {why}")
        return None, reply._replace(frame=None, error="; ".join(failures))

    async def ask_besides(self, request: Request, addresses: Iterable[str]) -> dict[str, Reply]:
        """Returns what these answer within a second, failures too: nobody waits longer for one that hangs."""
        asked = {a: asyncio.ensure_future(self._client.ask(a, request, self._timeout_s)) for a in addresses}
        if asked:
            await asyncio.wait(asked.values(), timeout=PATIENCE_S)
        return {address: task.result() for address, task in asked.items() if task.done()}


def _check(may_ask: Callable[[], bool]) -> None:
    if not may_ask():
        raise asyncio.CancelledError("another collector may ask now")
