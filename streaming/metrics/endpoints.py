"""The answers of ``/metrics``, ``/healthz`` and ``/readyz``, and a server of only these, in its own thread."""

import logging
from collections.abc import Callable
from functools import partial
from threading import Event, Thread

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from streaming.config.values import is_loopback
from streaming.http_serving import base_address, begin_again_until, host_name, listening_socket, serve_until
from streaming.metrics.exposition import Exposed, Exposition

log = logging.getLogger(__name__)

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
METHODS = ("GET", "HEAD")
MOST_TROUBLES = 50
LONGEST_TROUBLE = 500
MOST_CONNECTIONS = 50
# The query of /readyz for a platform that replaces processes one after the other: it waits until the new one is ready,
# and a standby would never be.
STANDBY_IS_READY = b"standby=ready"


def readyz(exposition: Exposition) -> Response:
    """The answer 200, or 503 with a line for each reason why the process does not work now."""
    troubles = exposition.troubles()
    if not troubles:
        return PlainTextResponse("ok\n", headers=HEADERS)
    lines = [" ".join(trouble.split())[:LONGEST_TROUBLE] for trouble in troubles[:MOST_TROUBLES]]
    if len(troubles) > MOST_TROUBLES:
        lines.append(f"and {len(troubles) - MOST_TROUBLES} more")
    body = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    return PlainTextResponse(body, 503, HEADERS)


ENDPOINTS: dict[str, Callable[[Exposition], Response]] = {
    "/metrics": lambda exposition: Response(exposition.text(), headers={**HEADERS, "Content-Type": CONTENT_TYPE}),
    "/healthz": lambda _: PlainTextResponse("ok\n", headers=HEADERS),  # the process runs, also if it does not work
    "/readyz": readyz,
}


def endpoints_app(exposition: Exposition, host: str) -> ASGIApp:
    """The application. ``host``: where it listens. On loopback it answers only to names of this machine, so that no
    page of another site can read it through a browser here.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await _response(exposition, host, scope)(scope, receive, send)

    return app


def _response(exposition: Exposition, host: str, scope: Scope) -> Response:
    if is_loopback(host) and not is_loopback(host_name(Headers(scope=scope).get("host", ""))):
        return PlainTextResponse("This is not known under that name.\n", 421, HEADERS)
    answer = ENDPOINTS.get(scope["path"])
    if answer is None:
        return PlainTextResponse(f"There are {', '.join(ENDPOINTS)}.\n", 404, HEADERS)
    if scope["method"] not in METHODS:
        return PlainTextResponse("Only GET and HEAD.\n", 405, {**HEADERS, "Allow": ", ".join(METHODS)})
    if scope["path"] == "/readyz" and scope["query_string"] == STANDBY_IS_READY and exposition.is_standby():
        return PlainTextResponse("standby\n", headers=HEADERS)
    return response(scope["path"], exposition)


def response(path: str, exposition: Exposition) -> Response:
    """The response of one of the three paths. An error of evenkeel is logged, and answered with 500."""
    try:
        return ENDPOINTS[path](exposition)
    except Exception:
        log.exception("%s could not be made", path)
        return PlainTextResponse("evenkeel could not make this. Its log says why.\n", 500, HEADERS)


def start_serving(address: tuple[str, int] | None, exposed: Exposed, stop: Event) -> None:
    """Start the server, whose errors never end the process. ``address`` None: nothing is served."""
    if address is not None:
        Thread(target=keep_serving, args=(address, exposed, stop), name="metrics", daemon=True).start()


def keep_serving(address: tuple[str, int], exposed: Exposed, stop: Event) -> None:
    """Serve until ``stop``. If the address cannot be listened on, this is logged once and tried again."""
    begin_again_until(stop, "the metrics are not served", partial(_serve, address, Exposition(exposed), stop))


def _serve(address: tuple[str, int], exposition: Exposition, stop: Event) -> None:
    host, port = address
    listening = listening_socket(host, port, "metrics.listen")
    log.info("metrics at %s/metrics", base_address("http", host, listening))
    serve_until(stop, endpoints_app(exposition, host), listening, MOST_CONNECTIONS)
