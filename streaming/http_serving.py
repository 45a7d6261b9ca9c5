"""An HTTP server over a socket that was opened before, until its process says so."""

import errno
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from streaming.errors import AwayError, MonitorError, SetupError

ENDING_S = 3
KEEP_ALIVE_S = 30
WAITING_CONNECTIONS = 128
PATIENCE_S = 30.0  # with a connection that asks nothing, or sends half a request
AGAIN_AFTER_S = 30.0
log = logging.getLogger(__name__)


def listening_socket(host: str, port: int, key: str) -> socket.socket:
    """``key``: of the configuration, which names the address. Raises SetupError where it cannot be listened on, and
    AwayError where this machine does not have it yet: networks and name servers may come up later.
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
    """Begin ``serve`` again after it failed, until ``stop``. Where it fails again alike, that is logged once."""
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
    """What a browser is given to reach it: the host of the configuration, and the port that is listened on."""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{listening.getsockname()[1]}"


def host_name(header: str) -> str:
    """Of a Host header, without its port."""
    return header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0].lower()


def serve_until(stop: Event, app: ASGIApp, listening: socket.socket, **options: Any) -> None:
    """``options``: of uvicorn, beside those that hold for all servers of evenkeel."""
    server = _Server(
        uvicorn.Config(
            app,
            http=_Protocol,
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
        )
    )
    Thread(target=_end, args=(server, stop), name="http-end", daemon=True).start()
    server.run(sockets=[listening])


class _Protocol(H11Protocol):
    """Closes connections that hold a place and ask nothing: uvicorn itself waits for ever for a request's end."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._seen: object = None
        self.loop.call_later(PATIENCE_S, self._close_if_idle)

    def _close_if_idle(self) -> None:
        """Idle: no request has begun since the last look, and none is being answered."""
        if self.transport.is_closing():
            return
        if self.cycle is self._seen and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
            return
        self._seen = self.cycle
        self.loop.call_later(PATIENCE_S, self._close_if_idle)


class _Server(uvicorn.Server):
    """Signals are the command's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _end(server: uvicorn.Server, stop: Event) -> None:
    stop.wait()
    server.should_exit = True
