"""Reads values from a request's query, each within its limits."""

from collections.abc import Container

from starlette.datastructures import QueryParams

from streaming.web.context import BadRequest


def text(query: QueryParams, name: str, most: int = 255) -> str:
    """The text of a parameter: empty if it is missing; cut if it is too long."""
    return query.get(name, "")[:most]


def one_of(query: QueryParams, name: str, known: Container[str], default: str = "") -> str:
    """The value of a parameter; the default if it is not a known word."""
    given = query.get(name, "")
    return given if given in known else default


def number(query: QueryParams, name: str, least: int, most: int, default: int) -> int:
    given = query.get(name, "")
    if not (given.isascii() and given.isdecimal() and len(given) <= 9):
        return default
    return min(max(int(given), least), most)


def required(query: QueryParams, name: str, most: int = 1000) -> str:
    """The text of a parameter. Raises BadRequest if it is missing or too long."""
    given = query.get(name, "")
    if not given or len(given) > most:
        raise BadRequest(f"{name}: a text of 1 to {most} characters")
    return given
