"""Serves the pages until ``stop`` is set."""

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

import uvicorn

from schemas.tables import FACTS
from streaming.errors import MonitorError, SetupError
from streaming.tables.facts_log import FactsLog
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.settings import WebSettings

log = logging.getLogger(__name__)

ENDING_S = 3
KEEP_ALIVE_S = 30
MOST_CONNECTIONS = 500
WAITING_CONNECTIONS = 128


def serve(settings: WebSettings, stop: Event) -> None:
    """Reads once before it listens. Raises SetupError where it cannot listen, and what reading raises."""
    if not FactsLog(f"{settings.tables}/{FACTS.name}").exists():
        log.warning("%s holds no facts yet: the pages are empty until a job writes some", settings.tables)
    watch = Watch(settings.tables)
    watch.read()
    serve_watched(settings, watch, stop)


def keep_serving(settings: WebSettings, stop: Event) -> None:
    """In a thread of ``run``: what is wrong with the pages is logged, and never ends detection."""
    try:
        serve_watched(settings, Watch(settings.tables), stop)
    except Exception as error:
        log.error("the pages are not served: %s", error, exc_info=not isinstance(error, MonitorError))


def serve_watched(settings: WebSettings, watch: Watch, stop: Event) -> None:
    listening = listen(settings)
    over = Event()
    server = _server(settings, watch)
    Thread(target=watch.keep_reading, args=(over,), name="web-reader", daemon=True).start()
    Thread(target=_end, args=(server, stop), name="web-end", daemon=True).start()
    host = f"[{settings.listen.host}]" if ":" in settings.listen.host else settings.listen.host
    scheme = "https" if settings.listen.certificate else "http"
    log.info("pages of %s at %s://%s:%d/", settings.tables, scheme, host, listening.getsockname()[1])
    try:
        server.run(sockets=[listening])
    finally:
        over.set()


class _Server(uvicorn.Server):
    """Signals are the command's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _server(settings: WebSettings, watch: Watch) -> uvicorn.Server:
    return _Server(
        uvicorn.Config(
            web_app(settings, watch),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=ENDING_S,
            ssl_certfile=settings.listen.certificate or None,
            ssl_keyfile=settings.listen.key or None,
        )
    )


def listen(settings: WebSettings) -> socket.socket:
    host, port = settings.listen.host, settings.listen.port
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as on_failure:
            listening = on_failure.enter_context(socket.socket(family, kind))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(WAITING_CONNECTIONS)
            on_failure.pop_all()
    except OSError as error:
        raise SetupError(f"{host}:{port} (web.listen) cannot be listened on: {error.strerror or error}") from error
    return listening


def _end(server: uvicorn.Server, stop: Event) -> None:
    stop.wait()
    server.should_exit = True
