"""The addresses of the JSON API. Each answer is made in a thread, since it may read tables."""

from collections.abc import Callable

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from streaming.errors import MonitorError
from streaming.web.api.answers import Failure
from streaming.web.api.openapi import BASE, document
from streaming.web.api.operations import Api
from streaming.web.context import STATUS, Busy
from streaming.web.pages.group_page import GroupFacts

BUSY = "too much is being read at once: ask again in some seconds"


def api_routes(facts: GroupFacts) -> Mount:
    """Every operation, the OpenAPI document, and an answer in JSON for every other address under ``/api/v1``."""
    operations = Api(facts).operations
    threads = facts.context.threads
    described = msgspec.json.encode(document(operations))
    routes: list[BaseRoute] = [Route(one.path, _handler(one.ask, threads)) for one in operations]
    routes.append(Route("/openapi.json", _handler(lambda query: msgspec.Raw(described), threads)))
    routes.append(Route("/{path:path}", _nothing))
    return Mount(BASE, routes=routes)


def _handler(ask: Callable[[QueryParams], object], threads: CapacityLimiter) -> Callable[[Request], object]:
    def answered(query: QueryParams) -> Response:
        try:
            return _json(ask(query))
        except MonitorError as error:
            message = BUSY if isinstance(error, Busy) else str(error)
            return _json(Failure(error=message), STATUS.get(type(error), 503))

    async def handle(request: Request) -> Response:
        return await to_thread.run_sync(answered, request.query_params, limiter=threads)

    return handle


async def _nothing(request: Request) -> Response:
    return _json(Failure(error=f"there is no such address: {BASE}/openapi.json lists all"), 404)


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
