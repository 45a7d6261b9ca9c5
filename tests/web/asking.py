"""Asks an application without a network: what a server would hand it, and what it answers."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from starlette.types import ASGIApp

HOST = {"host": "127.0.0.1:8400"}


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


def ask(
    app: ASGIApp,
    address: str,
    headers: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    peer: str = "127.0.0.1",
) -> Answer:
    """GET, or POST of a form."""
    return asyncio.run(_ask(app, address, {**HOST, **(headers or {})}, form, peer))


def ask_together(app: ASGIApp, address: str, times: int) -> list[Answer]:
    """GET so many times at once."""

    async def all_of_them() -> list[Answer]:
        return await asyncio.gather(*(_ask(app, address, HOST, None, "127.0.0.1") for _ in range(times)))

    return asyncio.run(all_of_them())


async def _ask(
    app: ASGIApp, address: str, headers: Mapping[str, str], form: Mapping[str, str] | None, peer: str
) -> Answer:
    parts = urlsplit(address)
    body = urlencode(form).encode() if form is not None else b""
    sent = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    if form is not None:
        sent += [(b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", b"%d" % len(body))]
    scope = {
        "type": "http", "http_version": "1.1", "scheme": "http", "method": "GET" if form is None else "POST",
        "path": parts.path, "raw_path": parts.path.encode(), "query_string": parts.query.encode(), "root_path": "",
        "headers": sent, "client": (peer, 5000), "server": ("127.0.0.1", 8400), "state": {},
    }  # fmt: skip
    answered: list[dict] = []
    requests = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict:
        return requests.pop(0) if requests else {"type": "http.disconnect"}

    async def send(message: dict) -> None:
        answered.append(message)

    await app(scope, receive, send)  # type: ignore[arg-type]
    start = next(one for one in answered if one["type"] == "http.response.start")
    text = b"".join(one.get("body", b"") for one in answered if one["type"] == "http.response.body").decode()
    return Answer(start["status"], {k.decode(): v.decode("latin-1") for k, v in start["headers"]}, text)
