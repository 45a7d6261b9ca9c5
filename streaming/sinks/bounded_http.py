"""One HTTP request and the beginning of its answer, within a time and a number of bytes. No redirect is followed."""

import http.client
import io
import socket
import zlib
from contextlib import closing
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from streaming.sinks.answer_limits import MOST_BYTES, BoundedReader, Deadline

_PACKED = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB = 47  # zlib's number for either


def exchange(method: str, url: str, limit_s: float, **options: Any) -> requests.Response:
    """The answer with at most MOST_BYTES of unpacked content. A body that breaks off has the bytes that came.

    Raises requests.RequestException, and no other error. ``limit_s``: seconds from the connection to the last byte.
    ``options``: those of ``requests.request``.
    """
    with closing(Deadline(limit_s)) as deadline, _Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, _Adapter(deadline))
        try:
            return session.request(method, url, **options | {"allow_redirects": False, "stream": True})
        except requests.RequestException:
            raise
        except (HTTPError, OSError, ValueError, http.client.HTTPException) as error:
            raise requests.ConnectionError(error) from error


class _Session(requests.Session):
    """A session that follows no redirect: ``requests`` would read its whole body first, and may fail at its address."""

    def __init__(self) -> None:
        super().__init__()
        self.headers["Accept-Encoding"] = "gzip, deflate"

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class _Adapter(HTTPAdapter):
    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        super().__init__()

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        deadline, plain = self._deadline, pool.ConnectionCls

        class Connection(plain):  # type: ignore[misc, valid-type]
            response_class = _BoundedResponse

            def _new_conn(self) -> socket.socket:
                opened: socket.socket = super()._new_conn()
                deadline.add(opened)
                return opened

        pool.ConnectionCls = Connection
        return pool

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """The body is read here, before anything of ``requests`` reads it without a bound."""
        response: requests.Response = super().build_response(req, resp)
        with response:
            response._content = _unpacked(_body(resp), response.headers.get("Content-Encoding", "").strip().lower())
        response._content_consumed = True  # type: ignore[attr-defined]
        return response


class _BoundedResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp.close()
        self.fp = io.BufferedReader(BoundedReader(sock))


def _body(answer: Any) -> bytes:
    """The body as it was sent, as far as it can be read."""
    body = bytearray()
    try:
        while len(body) < MOST_BYTES and (piece := answer.read(MOST_BYTES - len(body), decode_content=False)):
            body += piece
    except (HTTPError, OSError, ValueError, http.client.HTTPException):
        pass  # the status still counts
    return bytes(body)


def _unpacked(body: bytes, encoding: str) -> bytes:
    """The body unpacked; empty if it cannot be unpacked."""
    if encoding in ("", "identity"):
        return body
    try:
        return zlib.decompressobj(_GZIP_OR_ZLIB).decompress(body, MOST_BYTES) if encoding in _PACKED else b""
    except zlib.error:
        return b""
