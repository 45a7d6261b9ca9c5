"""What handlers share: what is known, who asks, in which language, and how an answer is made."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse

from streaming.errors import MonitorError
from streaming.notifier.silence_files import SilenceFiles
from streaming.web.live.watch import Watch
from streaming.web.rendering import StaticFile, read_static, renderer
from streaming.web.security.forms import FormTokens
from streaming.web.security.users import User
from streaming.web.settings import WebSettings
from streaming.web.words import Words, preferred, words_in

log = logging.getLogger(__name__)

LANGUAGE_COOKIE = "language"


class NotFound(MonitorError):
    """There is no such group, alert or page."""


class BadRequest(MonitorError):
    """A value of the request is none that it may have."""


class Refused(MonitorError):
    """Who asks may not do that, or the form is none of ours."""


class Busy(MonitorError):
    """Too much is being read at once."""


class Answer(NamedTuple):
    """A template and its values. ``live``: the address of its live updates, and the number that it shows."""

    template: str
    values: dict[str, Any]
    here: str = ""
    live: tuple[str, int] | None = None
    status: int = 200


class Context:
    """One for a server."""

    def __init__(self, settings: WebSettings, watch: Watch, pages: tuple[str, ...] = ()) -> None:
        self.settings = settings
        self.watch = watch
        self.pages = pages
        self.forms = FormTokens()
        self.silences = SilenceFiles(settings.state)
        self.static: dict[str, StaticFile] = read_static()
        self._render: Callable[..., str] = renderer(self.static)

    def user(self, request: Request) -> User:
        user: User = request.state.user
        return user

    def words(self, request: Request) -> Words:
        return words_in(self.language(request))

    def language(self, request: Request) -> str:
        return preferred(request.headers.get("accept-language", ""), request.cookies.get(LANGUAGE_COOKIE, ""))

    def html(self, request: Request, answer: Answer) -> HTMLResponse:
        live_from, live_number = answer.live or ("", 0)
        page = self._render(
            answer.template,
            t=self.words(request),
            now=answer.values.get("now", self.watch.now_ms()),
            here=answer.here,
            back=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            pages=self.pages,
            error=self.watch.error,
            is_past=self.watch.is_past,
            live_from=live_from,
            live_number=live_number,
            **{name: value for name, value in answer.values.items() if name != "now"},
        )
        return HTMLResponse(page, answer.status, {"Vary": "Accept-Language, Cookie"})
