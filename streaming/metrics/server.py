"""The server of the endpoints, in its own thread until the process ends. Its errors never end the process."""

import logging
from functools import partial
from threading import Event, Thread

from streaming.http_serving import base_address, begin_again_until, listening_socket, serve_until
from streaming.metrics.endpoints import endpoints_app
from streaming.metrics.exposition import Exposed, Exposition

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 50
KEY = "metrics.listen"


def start_serving(address: tuple[str, int] | None, exposed: Exposed, stop: Event) -> None:
    """Start the server. ``address`` None: nothing is served."""
    if address is not None:
        Thread(target=keep_serving, args=(address, exposed, stop), name="metrics", daemon=True).start()


def keep_serving(address: tuple[str, int], exposed: Exposed, stop: Event) -> None:
    """Serve until ``stop``. If the address cannot be listened on, this is logged once and tried again."""
    begin_again_until(stop, "the metrics are not served", partial(_serve, address, Exposition(exposed), stop))


def _serve(address: tuple[str, int], exposition: Exposition, stop: Event) -> None:
    host, port = address
    listening = listening_socket(host, port, KEY)
    log.info("metrics at %s/metrics", base_address("http", host, listening))
    serve_until(stop, endpoints_app(exposition, host), listening, MOST_CONNECTIONS)
