"""The addresses of the server, and what answers them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Container

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
from streaming.web.context import LANGUAGE_COOKIE, Answer, Context, status_of
from streaming.web.live.exposed import facts_reader, facts_troubles
from streaming.web.live.watch import Watch
from streaming.web.pages.alert_page import AlertPage
from streaming.web.pages.group_page import GroupFacts, GroupPage
from streaming.web.pages.health_page import HealthPage
from streaming.web.pages.overview_page import OverviewPage
from streaming.web.pages.plan_page import PlanPage
from streaming.web.pages.silencing import Silencing
from streaming.web.queries import number, one_of, text
from streaming.web.rendering import address
from streaming.web.security.access import Access
from streaming.web.security.guard import Guard
from streaming.web.security.headers import KEPT
from streaming.web.settings import WebSettings
from streaming.web.words import WORDS
from streaming.web.zones import CHOICES, CHOSEN_COOKIE

Handler = Callable[[Request], Awaitable[Response]]
PAGES = ("health", "plan")
YEAR_S = 31_536_000
HEARTBEAT_S = 20.0
STREAM_S = 600.0  # then a browser connects again, so that who may no longer read gets nothing more


def web_app(settings: WebSettings, watch: Watch, exposed: Exposed | None = None) -> Starlette:
    """The application. It reads no tables into ``watch``: a thread does that (``Watch.start_reading``).

    ``exposed``: of the process; None: the pages are all it serves.
    """
    exposition = Exposition(exposed or exposed_pages(settings, watch))
    context = Context(settings, watch, PAGES)
    facts = GroupFacts(context)
    silencing = Silencing(context)
    app = Starlette(
        routes=[
            Route("/", page(context, OverviewPage(context).answer)),
            Route("/group", page(context, GroupPage(context, facts).answer)),
            Route("/alert", page(context, AlertPage(context, facts).answer)),
            Route("/health", page(context, HealthPage(context).answer)),
            Route("/plan", page(context, PlanPage(context, facts).answer)),
            Route("/open", open_link),
            Route("/silence", silencing.add, methods=["POST"]),
            Route("/silence/end", silencing.end, methods=["POST"]),
            Route("/changes", changes(context)),
            Route("/language", choice(LANGUAGE_COOKIE, WORDS, "en")),
            Route("/zone", choice(CHOSEN_COOKIE, CHOICES, "local")),
            Route("/static/{name}", static(context)),
            api_routes(context, facts),
            *(Route(path, endpoint(exposition)) for path in ENDPOINTS),
        ],
        middleware=[Middleware(Guard, access=Access(settings.access))],
        exception_handlers={HTTPException: not_found(context)},
    )
    return app


def page(context: Context, answer: Callable[[Request], Answer | Response]) -> Handler:
    """A page is made in a thread, since it may read tables."""

    def made(request: Request) -> Response:
        try:
            answered = answer(request)
            return answered if isinstance(answered, Response) else context.html(request, answered)
        except MonitorError as error:
            message = str(error) or context.words(request)("busy")
            return context.html(request, Answer("message.html", {"message": message}, status=status_of(error)))

    async def handle(request: Request) -> Response:
        return await run_in_threadpool(made, request)

    return handle


def changes(context: Context) -> Handler:
    """Server-sent events: the number of each change of a group, or of any, and how old the newest data is.

    The age is sent, not the time: the browser's clock may be wrong.
    """

    async def handle(request: Request) -> Response:
        cluster, group = text(request.query_params, "cluster"), text(request.query_params, "group")
        after = number(request.query_params, "after", 0, 10**9, 0)
        events = stream((cluster, group) if group else None, after, cluster)
        return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def stream(group: tuple[str, str] | None, after: int, cluster: str) -> AsyncIterator[str]:
        yield f"retry: 3000\n{seen(cluster)}"
        for _ in range(int(STREAM_S / HEARTBEAT_S)):
            new = await context.watch.changes.next(group, after, HEARTBEAT_S)
            yield seen(cluster)
            if new is not None:
                after = new
                yield f"event: changed\nid: {new}\ndata: {new}\n\n"

    def seen(cluster: str) -> str:
        seen_ts = context.freshness(cluster).seen_ts
        return f"event: seen\ndata: {'' if seen_ts is None else context.watch.now_ms() - seen_ts}\n\n"

    return handle


async def open_link(request: Request) -> Response:
    """Where the link of a page leads: to its alert, else to its group, else to its cluster."""
    cluster, group, alert = (text(request.query_params, name) for name in ("cluster", "group", "alert"))
    if alert:
        return RedirectResponse(address("/alert", id=alert, cluster=cluster, group=group), 303)
    if group:
        return RedirectResponse(address("/group", cluster=cluster, group=group), 303)
    return RedirectResponse(address("/", cluster=cluster), 303)


def choice(cookie: str, known: Container[str], default: str) -> Handler:
    """Keeps what a reader chose, ``to`` of the address, in a cookie, and goes back to where its link was."""

    async def handle(request: Request) -> Response:
        back = text(request.query_params, "back", 4000)
        is_here = back.startswith("/") and not back.startswith(("//", "/\\"))
        response = RedirectResponse(back if is_here else "/", 303)
        chosen = one_of(request.query_params, "to", known, default)
        secure = request.url.scheme == "https"
        response.set_cookie(cookie, chosen, max_age=YEAR_S, path="/", httponly=True, samesite="strict", secure=secure)
        return response

    return handle


def static(context: Context) -> Handler:
    async def handle(request: Request) -> Response:
        file = context.static.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.", 404)
        return Response(file.content, media_type=file.media_type, headers={"Cache-Control": KEPT})

    return handle


def exposed_pages(settings: WebSettings, watch: Watch) -> Exposed:
    return Exposed("web", [facts_reader(watch, settings.series_limit)], lambda: facts_troubles(watch))


def endpoint(exposition: Exposition) -> Handler:
    """For Prometheus and those that restart what has died, in a thread: the text of many groups takes a while."""

    async def handle(request: Request) -> Response:
        return await run_in_threadpool(response, request.url.path, exposition)

    return handle


def not_found(context: Context) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code != 404:
            return PlainTextResponse(error.detail, error.status_code, error.headers)
        words = context.words(request)
        return context.html(request, Answer("message.html", {"message": words("not_found")}, status=404))

    return handle
