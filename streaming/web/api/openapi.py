"""The OpenAPI document of the JSON API, made from its operations and the classes of its answers."""

from collections.abc import Iterable
from typing import Any

import msgspec

from streaming.web.api.answers import Failure
from streaming.web.api.operations import Operation, Parameter

BASE = "/api/v1"
FAILURES = {
    "400": "a parameter is missing, or is none of its words",
    "401": "a password or a token is needed",
    "404": "there is no such group, or nothing was known of it then",
    "503": "the tables cannot be read, or too much is being read at once",
}


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
    answers = {"200": {"description": operation.summary, "content": _json(schema)}}
    failures = {
        status: {"description": why, "content": _json(failure)} for status, why in FAILURES.items() if status != "401"
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


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
