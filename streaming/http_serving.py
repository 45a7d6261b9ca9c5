"""An HTTP server over a socket that was opened before; it runs until its process stops it.

No secret is in its answers. Log lines that others can cause at will come once a minute, with a count.
"""

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Event, Thread
from typing import Any, cast

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from streaming.errors import AwayError, MonitorError, SetupError
from streaming.secret_mask import masked

ENDING_S = 3
KEEP_ALIVE_S = 30
WAITING_CONNECTIONS = 128
PATIENCE_S = 30.0  # with a client that asks nothing, or sends half a request
UNREAD_PATIENCE_S = 120.0  # with one that reads nothing of its answer: kernels take it in large pieces
LOOK_EVERY_S = 5.0
TICKS_A_SECOND = 10  # of uvicorn
AGAIN_AFTER_S = 30.0
REQUESTS_LOG = logging.getLogger("uvicorn.error")  # uvicorn's message for bytes that are no request
EVERY_S = 60.0  # a line of each kind
MOST_KINDS = 100
_TEXTS = ("text/html", "text/plain", "text/event-stream", "application/json")
log = logging.getLogger(__name__)


class OnceAMinute(logging.Filter):
    """A filter for a logger. Lines are of one kind if their text is the same before values are filled in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._shown: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = str(record.msg), self._clock()
        at, left_out = self._shown.get(kind, (now - EVERY_S, 0))
        if now - at < EVERY_S:
            self._shown[kind] = (at, left_out + 1)
            return False
        if len(self._shown) >= MOST_KINDS:
            self._shown.clear()
        self._shown[kind] = (now, 0)
        if left_out:
            record.msg = f"{kind.rstrip()} ({left_out} more like this since the last such line)"
        return True


_once_a_minute = OnceAMinute()


def listening_socket(host: str, port: int, key: str) -> socket.socket:
    """A socket that listens. ``key``: the key of the configuration with the address. Raises SetupError if the address
    cannot be used, and AwayError if this machine does not have it yet: networks and DNS may come up later.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as on_failure:
            listening = on_failure.enter_context(socket.socket(family, kind))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(WAITING_CONNECTIONS)
            on_failure.pop_all()
    except OSError as error:
        message = f"{host}:{port} ({key}) cannot be listened on: {error.strerror or error}"
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise AwayError(message) from error
        raise SetupError(message) from error
    return listening


def begin_again_until(stop: Event, what: str, serve: Callable[[], None]) -> None:
    """Begin ``serve`` again after it failed, until ``stop``. The same failure in a row is logged once."""
    logged = ""
    while not stop.is_set():
        try:
            serve()
        except Exception as error:
            if str(error) != logged:
                unforeseen = not isinstance(error, MonitorError)
                log.error("%s: %s; tried again every %g s", what, error, AGAIN_AFTER_S, exc_info=unforeseen)
            logged = str(error)
        stop.wait(AGAIN_AFTER_S)


def base_address(scheme: str, host: str, listening: socket.socket) -> str:
    """The address for a browser: the host of the configuration, and the port of the socket."""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{listening.getsockname()[1]}"


def host_name(header: str) -> str:
    """The host in a Host header, without its port."""
    return header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0].lower()


def serve_until(
    stop: Event,
    app: ASGIApp,
    listening: socket.socket,
    most_connections: int,
    went_on: Callable[[], object] = lambda: None,
    **options: Any,
) -> None:
    """Serve until ``stop``. ``options``: of uvicorn, beside those of all servers of evenkeel. The server's loop calls
    ``went_on`` every second while it serves.
    """
    REQUESTS_LOG.addFilter(_once_a_minute)
    server = _Server(
        uvicorn.Config(
            masked_app(app),
            http=cast("type[asyncio.Protocol]", partial(_Protocol, most_connections=most_connections)),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=ENDING_S,
            **options,
        ),
        went_on,
    )
    Thread(target=_end, args=(server, stop), name="http-end", daemon=True).start()
    server.run(sockets=[listening])


class _Protocol(H11Protocol):
    """A connection with time-outs: uvicorn waits for ever for a request's end, and for a client that reads no answer.

    If there are too many connections, the one that has waited longest for its client is closed. So a client that keeps
    connections open does not keep others out.
    """

    def __init__(self, *arguments: Any, most_connections: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._most = most_connections
        self._since = self.loop.time()
        self._seen: object = None
        self._unread = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._most:
            self._make_room()
        self.loop.call_later(LOOK_EVERY_S, self._look)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not self._seen:
            self._seen, self._since = self.cycle, self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._since = self.loop.time()

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        super().on_response_complete()

    @property
    def waits_since(self) -> float | None:
        """Since when it waits for its client; None while a request is answered. A single byte does not restart the
        time.
        """
        is_answering = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        return None if is_answering and not self.flow.write_paused else self._since

    def _make_room(self) -> None:
        waiting = {one: one.waits_since for one in self.connections if isinstance(one, _Protocol) and one is not self}
        since = {one: at for one, at in waiting.items() if at is not None}
        self._abort() if not since else min(since, key=since.__getitem__)._abort()

    def _abort(self) -> None:
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        unread = self.transport.get_write_buffer_size()
        if unread < self._unread:
            self._since = self.loop.time()  # it reads, if slowly
        self._unread = unread
        since, patience = self.waits_since, UNREAD_PATIENCE_S if self.flow.write_paused else PATIENCE_S
        if since is not None and self.loop.time() - since >= patience:
            self._abort()
        else:
            self.loop.call_later(LOOK_EVERY_S, self._look)


class _Server(uvicorn.Server):
    """A server that handles no signals: the command handles them. Its loop calls ``went_on`` every second."""

    def __init__(self, config: uvicorn.Config, went_on: Callable[[], object]) -> None:
        super().__init__(config)
        self._went_on = went_on

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_A_SECOND == 0:
            self._went_on()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _end(server: uvicorn.Server, stop: Event) -> None:
    stop.wait()
    server.should_exit = True


def masked_app(app: ASGIApp) -> ASGIApp:
    """The application, with secrets masked in its answers. Each piece of a stream is masked by itself."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun: Message = {}

        async def masking(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = message
                return
            if message["type"] == "http.response.body":
                message = _masked_body(begun, message)
            if begun:
                await send(begun)
                begun = {}
            await send(message)

        await app(scope, receive, masking)

    return answer


def _masked_body(begun: Message, message: Message) -> Message:
    """The masked body. ``begun``: the message before the body, with its length; empty once that was sent."""
    body = bytes(message.get("body", b""))
    if begun and not MutableHeaders(raw=begun["headers"]).get("content-type", "").startswith(_TEXTS):
        return message
    shown = masked(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if shown == body:
        return message
    headers = MutableHeaders(raw=begun.get("headers", []))
    if "content-length" in headers:
        headers["content-length"] = str(len(shown))
    return {**message, "body": shown}
