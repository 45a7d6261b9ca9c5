"""The addresses of the JSON API, and its OpenAPI document. Answers are made in threads, since they may read tables."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from streaming.errors import MonitorError
from streaming.web.api.answers import Failure
from streaming.web.api.operations import Api, Operation, Parameter
from streaming.web.context import STATUS, Busy
from streaming.web.pages.group_page import GroupFacts

BASE = "/api/v1"
FAILURES = {
    "400": "a parameter is missing, or is none of its words",
    "401": "a password or a token is needed",
    "404": "there is no such group, or nothing was known of it then",
    "503": "the tables cannot be read, or too much is being read at once",
}
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


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """OpenAPI 3.1, whose schemas are JSON Schema."""
    operations = tuple(operations)
    answers = (*(one.answer for one in operations), Failure)
    schemas, components = msgspec.json.schema_components(answers, ref_template="#/components/schemas/{name}")
    failure = schemas[-1]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "evenkeel",
            "version": "1",
            "description": "What the pages of evenkeel show. Times are epoch milliseconds, UTC. null: not known.",
        },
        "paths": {
            BASE + one.path: {"get": _operation(one, schema, failure)}
            for one, schema in zip(operations, schemas, strict=False)
        },
        "components": {
            "schemas": components,
            "securitySchemes": {
                "password": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"password": []}, {"token": []}],
    }


def _operation(operation: Operation, schema: Any, failure: Any) -> dict[str, Any]:
    answers = {"200": {"description": operation.summary, "content": _body(schema)}}
    failures = {
        status: {"description": why, "content": _body(failure)} for status, why in FAILURES.items() if status != "401"
    }
    return {
        "operationId": operation.path.strip("/"),
        "summary": operation.summary,
        "parameters": list(map(_parameter, operation.parameters)),
        "responses": answers | failures | {"401": {"description": FAILURES["401"]}},
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if parameter.words:
        schema["enum"] = list(parameter.words)
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "description": parameter.description,
        "schema": schema,
    }


def _body(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
