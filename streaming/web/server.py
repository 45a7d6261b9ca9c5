"""Serves the pages until ``stop`` is set."""

import logging
from collections.abc import Callable
from functools import partial
from threading import Event

from schemas.tables import FACTS
from streaming.http_serving import base_address, begin_again_until, listening_socket, serve_until
from streaming.metrics.exposition import Exposed
from streaming.systemd import ServiceState
from streaming.tables.facts_log import FactsLog
from streaming.tables.storage import away_said
from streaming.web.app import web_app
from streaming.web.live.exposed import facts_troubles
from streaming.web.live.watch import Watch
from streaming.web.settings import WebSettings

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 500
PAGES, FACTS_READER = "pages", "facts"  # the parts of the work, each in a thread of its own


def serve(settings: WebSettings, stop: Event) -> None:
    """Read once, then serve. Raises SetupError or AwayError if it cannot listen, and the errors of reading."""
    with away_said(settings.tables):
        if not FactsLog(f"{settings.tables}/{FACTS.name}").exists():
            log.warning("%s holds no facts yet: the pages are empty until a job writes some", settings.tables)
        state = ServiceState((PAGES, FACTS_READER), lambda: facts_troubles(watch))
        watch = Watch(settings.tables, settings.forget_after_ms, went_on=partial(state.went_on, FACTS_READER))
        watch.read()
    over = Event()
    watch.start_reading(over)
    try:
        serve_watched(settings, watch, stop, went_on=partial(state.went_on, PAGES))
    finally:
        over.set()


def keep_serving(settings: WebSettings, watch: Watch, stop: Event, exposed: Exposed | None = None) -> None:
    """Serve in a thread of ``run``. An error of the pages is logged, never ends detection, and is tried again."""
    begin_again_until(stop, "the pages are not served", partial(serve_watched, settings, watch, stop, exposed))


def serve_watched(
    settings: WebSettings,
    watch: Watch,
    stop: Event,
    exposed: Exposed | None = None,
    went_on: Callable[[], object] = lambda: None,
) -> None:
    """Serve what ``watch`` reads; the caller has started it. ``exposed``: the process's metrics; None: pages only.

    ``went_on`` is called every second while it serves.
    """
    web, (host, port) = settings.web, settings.web.address()
    listening = listening_socket(host, port, "web.listen")
    scheme = "https" if web.tls_cert_file else "http"
    log.info("pages of %s at %s/", settings.tables, base_address(scheme, host, listening))
    serve_until(
        stop,
        web_app(settings, watch, exposed),
        listening,
        MOST_CONNECTIONS,
        went_on,
        ssl_certfile=web.tls_cert_file or None,
        ssl_keyfile=web.tls_key_file or None,
    )
