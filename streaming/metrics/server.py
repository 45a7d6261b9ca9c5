"""Serves the endpoints in a thread of their own until the process ends. What is wrong with them never ends it."""

import logging
from threading import Event, Thread

from streaming.errors import SetupError
from streaming.http_serving import base_address, listening_socket, serve_until
from streaming.metrics.endpoints import endpoints_app
from streaming.metrics.exposition import Exposed, Exposition

log = logging.getLogger(__name__)

AGAIN_AFTER_S = 30.0
MOST_CONNECTIONS = 50
KEY = "metrics.listen"


def start_serving(address: tuple[str, int] | None, exposed: Exposed, stop: Event) -> None:
    """``address`` None: nothing is served."""
    if address is not None:
        Thread(target=keep_serving, args=(address, exposed, stop), name="metrics", daemon=True).start()


def keep_serving(address: tuple[str, int], exposed: Exposed, stop: Event) -> None:
    """Where the address cannot be listened on, that is logged once and tried again."""
    exposition = Exposition(exposed)
    is_logged = False
    while not stop.is_set():
        try:
            _serve(address, exposition, stop)
        except SetupError as error:
            if not is_logged:
                log.error("the metrics are not served: %s; tried again every %g s", error, AGAIN_AFTER_S)
            is_logged = True
        except Exception:
            log.exception("the metrics are not served; tried again in %g s", AGAIN_AFTER_S)
        stop.wait(AGAIN_AFTER_S)


def _serve(address: tuple[str, int], exposition: Exposition, stop: Event) -> None:
    host, port = address
    listening = listening_socket(host, port, KEY)
    log.info("metrics at %s/metrics", base_address("http", host, listening))
    serve_until(stop, endpoints_app(exposition, host), listening, limit_concurrency=MOST_CONNECTIONS)
