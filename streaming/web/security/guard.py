"""Checks every request first: its size, its host, and its user. It adds the security headers to every answer."""

import logging

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streaming.http_serving import OnceAMinute
from streaming.web.security.access import Access, TooMany
from streaming.web.security.forms import is_embedded_elsewhere

log = logging.getLogger(__name__)
log.addFilter(OnceAMinute())

FAILED = "evenkeel could not make this page. Its log says why."
LONGEST_ADDRESS = 8_000
WITHOUT_USER = frozenset({"/healthz"})  # it reports only that the process lives
MOST_AT_ONCE = 100  # requests: four seconds of work (docs/performance.md). More would wait longer than readers do
CHANGES = "/changes"  # the streams of open pages: they cost no work, and have a limit of their own
NOT_COUNTED = WITHOUT_USER | {CHANGES}
# They limit a browser: nothing from other sites, nothing inline, no frame, no stored copy.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex",
}
NOT_KEPT = "no-store"
KEPT = "public, max-age=31536000, immutable"


class Guard:
    """Guards the application. ``scope["state"]["user"]`` is the user, for the pages behind it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._at_once = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", NOT_KEPT)
            await send(message)

        is_counted = scope["path"] not in NOT_COUNTED
        refusal = self._refusal(scope)
        if refusal is None and is_counted and self._at_once >= MOST_AT_ONCE:
            refusal = PlainTextResponse("Too many requests at once.", 503, {"Retry-After": "2"})
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        self._at_once += is_counted  # before the user is looked up, which takes a while when there are many
        try:
            stranger = await self._stranger(scope)
            await (stranger or self._app)(scope, receive, send_with_headers)
        except Exception:
            log.exception("the page %s could not be made", scope["path"])
            if not has_begun:
                await PlainTextResponse(FAILED, 500)(scope, receive, send_with_headers)
        finally:
            self._at_once -= is_counted

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return PlainTextResponse("The address is too long.", 414)
        if not self._access.is_host_known(headers.get("host", "")):
            return PlainTextResponse(
                "These pages are not known under this name: name it in [web] hosts, or open 127.0.0.1.", 421
            )
        if scope["path"] in WITHOUT_USER:
            return None
        if is_embedded_elsewhere(headers.get("sec-fetch-site", ""), headers.get("sec-fetch-mode", "")):
            return PlainTextResponse("A page of another site asks for this.", 403)
        return None

    async def _stranger(self, scope: Scope) -> Response | None:
        """The answer to who is no user; None: the user is known now, or needs not be."""
        if scope["path"] in WITHOUT_USER:
            return None
        headers = Headers(scope=scope)
        peer = scope["client"][0] if scope.get("client") else ""
        proxy_user = headers.get(self._access.rules.proxy_header, "")
        try:
            user = await run_in_threadpool(self._access.user, peer, headers.get("authorization", ""), proxy_user)
        except TooMany:
            return PlainTextResponse("Too many passwords to check at once.", 429, {"Retry-After": "2"})
        if user is None:
            return PlainTextResponse(
                "Who are you? A password or token is needed.", 401, {"WWW-Authenticate": 'Basic realm="evenkeel"'}
            )
        scope.setdefault("state", {})["user"] = user
        return None
