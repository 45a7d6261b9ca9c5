"""The addresses of the server, and the functions that answer them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Container
from functools import partial

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from streaming.errors import MonitorError
from streaming.metrics.endpoints import ENDPOINTS, response
from streaming.metrics.exposition import Exposed, Exposition
from streaming.web.api.routes import api_routes
from streaming.web.context import LANGUAGE_COOKIE, ZONE_COOKIE, ZONES, Answer, Context
from streaming.web.live.exposed import facts_reader, facts_troubles
from streaming.web.live.watch import Watch
from streaming.web.pages.alert_page import alert_page
from streaming.web.pages.group_page import GroupFacts, group_page
from streaming.web.pages.health_page import health_page
from streaming.web.pages.overview_page import overview_page
from streaming.web.pages.plan_page import PlanPage
from streaming.web.pages.silences import add_silence, end_silence, silences_page
from streaming.web.rendering import address
from streaming.web.request_values import Form, PostedForms, number, one_of, text
from streaming.web.security.access import Access
from streaming.web.security.guard import CHANGES, KEPT, WITHOUT_USER, Guard
from streaming.web.settings import WebSettings
from streaming.web.words import WORDS

Handler = Callable[[Request], Awaitable[Response]]
PAGES = ("silences", "health", "plan")
YEAR_S = 31_536_000
HEARTBEAT_S = 20.0
MOST_STREAMS = 300  # each open page has one
STREAM_S = 600.0  # then a browser connects again, so that a user who lost the right to read gets nothing more


def web_app(settings: WebSettings, watch: Watch, exposed: Exposed | None = None) -> Starlette:
    """The application. A thread reads the tables into ``watch`` (``Watch.start_reading``); this function does not.

    ``exposed``: the metrics of the process; None: it serves the pages only.
    """
    exposition = Exposition(
        exposed or Exposed("web", [facts_reader(watch, settings.series_limit)], lambda: facts_troubles(watch))
    )
    context = Context(settings, watch, PAGES)
    facts = GroupFacts(context)
    forms, plan = PostedForms(context), PlanPage(facts)
    pages, silencing = Pages(context, forms, context.threads), Pages(context, forms, None, otherwise=400)
    return Starlette(
        routes=[
            Route("/", pages.page(partial(overview_page, context))),
            Route("/group", pages.page(partial(group_page, facts))),
            Route("/alert", pages.page(partial(alert_page, facts))),
            Route("/silences", pages.page(partial(silences_page, context))),
            Route("/health", pages.page(partial(health_page, context))),
            Route("/plan", pages.page(plan.answer)),
            Route("/plan", pages.posted(plan.answer), methods=["POST"]),
            Route("/open", open_link),
            Route("/silence", silencing.posted(partial(add_silence, context)), methods=["POST"]),
            Route("/silence/end", silencing.posted(partial(end_silence, context)), methods=["POST"]),
            Route(CHANGES, changes(context)),
            Route("/language", partial(choice, LANGUAGE_COOKIE, WORDS, "en")),
            Route("/zone", partial(choice, ZONE_COOKIE, ZONES, "local")),
            Route("/static/{name}", partial(static, context)),
            api_routes(facts),
            *(Route(path, partial(endpoint, exposition)) for path in ENDPOINTS),
        ],
        middleware=[Middleware(Guard, access=Access(settings.access))],
        exception_handlers={HTTPException: partial(not_found, context)},
    )


class Pages:
    """Makes pages in threads, since they may read tables. ``limiter``: of threads, so that some stay free.

    ``otherwise``: the status for errors that are not of the pages (``Context.refusal``).
    """

    def __init__(
        self, context: Context, forms: PostedForms, limiter: CapacityLimiter | None, otherwise: int = 503
    ) -> None:
        self._context, self._forms, self._limiter, self._otherwise = context, forms, limiter, otherwise

    def page(self, answer: Callable[[Request], Answer | Response]) -> Handler:
        def made(request: Request) -> Response:
            try:
                answered = answer(request)
                return answered if isinstance(answered, Response) else self._context.html(request, answered)
            except MonitorError as error:
                return self._context.refusal(request, error, self._otherwise)

        async def handle(request: Request) -> Response:
            return await to_thread.run_sync(made, request, limiter=self._limiter)

        return handle

    def posted(self, answer: Callable[[Request, Form], Answer | Response]) -> Handler:
        async def handle(request: Request) -> Response:
            try:
                form = await self._forms.read(request)
                self._forms.require_ours(request, form)
            except MonitorError as error:
                return self._context.refusal(request, error)
            return await self.page(lambda request: answer(request, form))(request)

        return handle


def changes(context: Context) -> Handler:
    """Server-sent events: the number of each change of a group, or of any group, and the age of the newest data.

    The age is sent, not the time: the browser's clock may be wrong.
    """

    open_streams = 0

    async def handle(request: Request) -> Response:
        if open_streams >= MOST_STREAMS:
            return PlainTextResponse("Too many pages wait for changes.", 503, {"Retry-After": "60"})
        cluster, group = text(request.query_params, "cluster"), text(request.query_params, "group")
        after = number(request.query_params, "after", 0, 10**9, 0)
        events = stream((cluster, group) if group else None, after, cluster)
        return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def stream(group: tuple[str, str] | None, after: int, cluster: str) -> AsyncIterator[str]:
        nonlocal open_streams
        open_streams += 1
        try:
            yield f"retry: 3000\n{seen(cluster)}"
            for _ in range(int(STREAM_S / HEARTBEAT_S)):
                new = await context.watch.changes.next(group, after, HEARTBEAT_S)
                yield seen(cluster)
                if new is not None:
                    after = new
                    yield f"event: changed\nid: {new}\ndata: {new}\n\n"
        finally:
            open_streams -= 1

    def seen(cluster: str) -> str:
        seen_ts = context.freshness(cluster).seen_ts
        return f"event: seen\ndata: {'' if seen_ts is None else context.watch.now_ms() - seen_ts}\n\n"

    return handle


async def open_link(request: Request) -> Response:
    """Redirect the link of a page to its alert, else to its group, else to its cluster."""
    cluster, group, alert = (text(request.query_params, name) for name in ("cluster", "group", "alert"))
    if alert:
        return RedirectResponse(address("/alert", id=alert, cluster=cluster, group=group), 303)
    if group:
        return RedirectResponse(address("/group", cluster=cluster, group=group), 303)
    return RedirectResponse(address("/", cluster=cluster), 303)


async def choice(cookie: str, known: Container[str], default: str, request: Request) -> Response:
    """Store the choice of a reader (``to`` of the address) in a cookie, and redirect to the page with the link."""
    back = text(request.query_params, "back", 4000)
    is_here = back.startswith("/") and not back.startswith(("//", "/\\"))
    response = RedirectResponse(back if is_here else "/", 303)
    chosen = one_of(request.query_params, "to", known, default)
    secure = request.url.scheme == "https"
    response.set_cookie(cookie, chosen, max_age=YEAR_S, path="/", httponly=True, samesite="strict", secure=secure)
    return response


async def static(context: Context, request: Request) -> Response:
    file = context.static.get(request.path_params["name"])
    if file is None:
        return PlainTextResponse("There is no such file.", 404)
    return Response(file.content, media_type=file.media_type, headers={"Cache-Control": KEPT})


async def endpoint(exposition: Exposition, request: Request) -> Response:
    """Answer Prometheus or a supervisor, in a thread: the text of many groups takes a while.

    The liveness answer needs no thread, so it comes even if all threads are busy.
    """
    path = request.scope["path"]
    if path in WITHOUT_USER:
        return response(path, exposition)
    return await run_in_threadpool(response, path, exposition)


async def not_found(context: Context, request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code != 404:
        return PlainTextResponse(error.detail, error.status_code, error.headers)
    words = context.words(request)
    return context.html(request, Answer("message.html", {"message": words("not_found")}, status=404))
