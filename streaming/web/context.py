"""The context that handlers share: the known facts, the user, the language, and how an answer is made."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, tzinfo
from threading import BoundedSemaphore
from typing import Any, NamedTuple

from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import HTMLResponse

from streaming.config.alert_rule_checks import zone_named
from streaming.errors import MonitorError
from streaming.notices.notice import Site
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.state_files import running_notifier
from streaming.wall_clock import now_ms
from streaming.web.live.upkeep_reader import UpkeepReader
from streaming.web.live.watch import Watch
from streaming.web.rendering import StaticFile, read_static, renderer
from streaming.web.security.forms import FormTokens
from streaming.web.security.users import User
from streaming.web.settings import WebSettings
from streaming.web.views.known import BLIND_AFTER_MS, LATE_AFTER_MS, Freshness, freshness
from streaming.web.words import Words, preferred, words_in
from streaming.wording.times import zone_then

LANGUAGE_COOKIE = "language"
ZONE_COOKIE, ZONES = "zone", ("utc", "local")  # the reader's choice
BROWSER_COOKIE = "browser_zone"  # the script sets it
# For requests that may read tables. Python runs one thread at a time, so each more lets the server wait longer for its
# turn. There must be some beside those that read a group, or wait for that (READS_AT_ONCE).
PAGE_THREADS = 8
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}")


class NotFound(MonitorError):
    """There is no such group, alert or page."""


class BadRequest(MonitorError):
    """A value of the request is not allowed."""


class Refused(MonitorError):
    """The user may not do that, or the form is not from this server."""


class Busy(MonitorError):
    """Too much is being read at once."""


STATUS: dict[type[MonitorError], int] = {BadRequest: 400, Refused: 403, NotFound: 404, Busy: 503}


@contextmanager
def acquired(places: BoundedSemaphore, seconds: float = 0) -> Iterator[None]:
    """Take a place while something is done. Raises Busy if none is free within ``seconds``."""
    if not places.acquire(timeout=seconds):
        raise Busy
    try:
        yield
    finally:
        places.release()


class Answer(NamedTuple):
    """A template and its values. ``live``: the address of its live updates, and the number that it shows.

    ``cluster``: the cluster whose data it shows; empty: all clusters.
    """

    template: str
    values: dict[str, Any]
    here: str = ""
    live: tuple[str, int] | None = None
    status: int = 200
    cluster: str = ""


class Context:
    def __init__(self, settings: WebSettings, watch: Watch, pages: tuple[str, ...] = ()) -> None:
        self.settings = settings
        self.watch = watch
        self.pages = pages
        self.threads = CapacityLimiter(PAGE_THREADS)
        self.forms = FormTokens()
        self.upkeep = UpkeepReader(watch.tables)
        self.silences = SilenceFiles(settings.state)
        self.static: dict[str, StaticFile] = read_static()
        self._render: Callable[..., str] = renderer(self.static)

    def user(self, request: Request) -> User:
        user: User = request.state.user
        return user

    def notifier(self) -> str:
        """The process that delivers from the folder where silences are written; empty: none is known."""
        try:
            return str(running_notifier(self.settings.state) or "")
        except OSError:
            return ""

    def silences_now_ms(self) -> int:
        """The time by which silences last: the notifier's clock, also if the tables are of the past."""
        return now_ms()

    def words(self, request: Request) -> Words:
        cookies = request.cookies
        language = preferred(request.headers.get("accept-language", ""), cookies.get(LANGUAGE_COOKIE, ""))
        chosen, of_browser = cookies.get(ZONE_COOKIE, ""), cookies.get(BROWSER_COOKIE, "")
        return words_in(language, reader_zone(chosen, of_browser, self.settings.site.zone))

    def site(self, words: Words) -> Site:
        return self.settings.site._replace(zone=words.zone)

    def _own_zone(self, request: Request) -> str:
        """The current name of the reader's own zone if it is not UTC; empty: there is nothing to choose."""
        now = self.watch.now_ms()
        own = own_zone(request.cookies.get(BROWSER_COOKIE, ""), self.settings.site.zone)
        name = zone_then(now, own)
        return "" if name == zone_then(now, UTC) else name

    def freshness(self, cluster: str) -> Freshness:
        return freshness(self.watch.known, cluster, self.watch.now_ms(), self.watch.is_past)

    def html(self, request: Request, answer: Answer) -> HTMLResponse:
        live_from, live_number = answer.live or ("", 0)
        words = self.words(request)
        page = self._render(
            answer.template,
            t=words,
            own_zone=self._own_zone(request),
            zone_now=zone_then(self.watch.now_ms(), words.zone),
            now=answer.values.get("now", self.watch.now_ms()),
            here=answer.here,
            back=_address_of(request),
            pages=self.pages,
            error=self.watch.error,
            is_past=self.watch.is_past,
            fresh=self.freshness(answer.cluster),
            really_now=self.watch.now_ms(),
            late_after_ms=LATE_AFTER_MS,
            blind_after_ms=BLIND_AFTER_MS,
            live_from=live_from,
            live_number=live_number,
            **{name: value for name, value in answer.values.items() if name not in ("now", "really_now")},
        )
        return HTMLResponse(page, answer.status, {"Vary": "Accept-Language, Cookie"})

    def refusal(self, request: Request, error: MonitorError, otherwise: int = 503) -> HTMLResponse:
        """The page that explains a refusal. ``otherwise``: the status for errors that are not of this module."""
        message = str(error) or self.words(request)("busy")
        return self.html(
            request, Answer("message.html", {"message": message}, status=STATUS.get(type(error), otherwise))
        )


def _address_of(request: Request) -> str:
    """The address on this server: two slashes at its beginning would name another server."""
    path = "/" + request.url.path.lstrip("/\\")
    return f"{path}?{request.url.query}" if request.url.query else path


def reader_zone(chosen: str, of_browser: str, configured: tzinfo | None) -> tzinfo | None:
    """The zone in which a reader sees times; None: this machine's. UTC if the reader chose it, else the own zone."""
    return UTC if chosen == "utc" else own_zone(of_browser, configured)


def own_zone(of_browser: str, configured: tzinfo | None) -> tzinfo | None:
    """The browser's zone, else the configured one. A cookie with an unknown name is ignored."""
    named = zone_named(of_browser) if _ZONE_NAME.fullmatch(of_browser) else None
    return named or configured
