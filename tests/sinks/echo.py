"""A server on loopback that quotes what it was asked, as Express and Spring do, in every way that an answer can."""

import base64
import html
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

from tests.sinks.accepting import AcceptingServer

Way = Callable[[bytes, str], bytes]  # of the request and its path to the answer


def _answer(status: str, text: str, *headers: str) -> bytes:
    body = text.encode("utf-8", "surrogateescape")
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"))
    return f"{head}Connection: close\r\n\r\n".encode("latin-1", "replace") + body


def _quoting(status: str, *headers: str) -> Way:
    def answer(request: bytes, path: str) -> bytes:
        return _answer(status, quoted(request, path), *headers)

    return answer


def quoted(request: bytes, path: str) -> str:
    """The path first, since answers are cut; then the whole request, each in several ways of writing."""
    text = request.decode("latin-1")
    parts = [path, html.escape(path), json.dumps(path).replace("/", "\\/"), quote(path, safe="")]
    parts += [base64.b64encode(request).decode(), base64.encodebytes(request).decode(), text, json.dumps(text)]
    return "Cannot POST " + "\n".join(parts)


WAYS: dict[str, Way] = {
    "400": _quoting("400 Bad Request"),
    "404": _quoting("404 Not Found"),
    "503": _quoting("503 Service Unavailable"),
    "429": _quoting("429 Too Many Requests", "Retry-After: 1"),
    "200 in text": _quoting("200 OK"),
    "200 in base64": lambda request, path: _answer("200 OK", base64.b64encode(request).decode()),
    "500 in base64": lambda request, path: _answer("500 No", base64.b64encode(request[1:]).decode()),
    "500 headers first": lambda request, path: _answer("500 No", request.decode("latin-1").partition("\r\n")[2]),
    "200 in JSON": lambda request, path: _answer("200 OK", json.dumps({"errcode": 1, "errmsg": path})),
    "redirect": lambda request, path: _answer("302 Found", quoted(request, path), f"Location: {path}"),
    "redirect to nowhere": lambda request, path: _answer("302 Found", path, f"Location: http://[::1{path}"),
    "status line": lambda request, path: f"HTTP/1.1 {path}\r\n\r\n".encode(),
    "no HTTP": lambda request, path: request,
    "headers": lambda request, path: f"HTTP/1.1 500 {path}\r\n{path}\r\n: {path}\r\n\r\n".encode() + request,
    "chunks": lambda request, path: b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n" + request,
    "packed": lambda request, path: b"HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\n\r\n" + request,
    "half": lambda request, path: b"HTTP/1.1 500 No\r\nContent-Length: 99999\r\n\r\n" + quoted(request, path).encode(),
    "reset": lambda request, path: b"",
}


class EchoServer(AcceptingServer):
    """``way``: how it answers; of a name that is none of ``ways`` it says nothing."""

    def __init__(self, *, speaks_smtp: bool = False) -> None:
        super().__init__()
        self.ways = ["refuses the login"] if speaks_smtp else [*WAYS, "no answer"]
        self.way = ""
        self._speaks_smtp = speaks_smtp

    def serve(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        with connection, suppress(OSError):  # the other side has gone
            self._mail(connection) if self._speaks_smtp else self._http(connection)

    def _http(self, connection: socket.socket) -> None:
        request = connection.recv(65_536)
        while b"\r\n\r\n" in request and len(request.partition(b"\r\n\r\n")[2]) < _length(request):
            request += connection.recv(65_536)
        self.asked += 1
        if self.way == "no answer":
            self.over.wait(5)
            return
        path = (request.split(b" ", 2)[1:2] or [b""])[0].decode("latin-1")
        connection.sendall(WAYS.get(self.way, WAYS["400"])(request, path))

    def _mail(self, connection: socket.socket) -> None:
        """Refuses the login and quotes it."""
        connection.sendall(b"220 here\r\n")
        self.asked += 1
        while line := connection.recv(4096):
            if line.startswith(b"EHLO"):
                connection.sendall(b"250-here\r\n250 AUTH PLAIN LOGIN\r\n")
            else:
                code = b"535" if line.startswith(b"AUTH") else b"550"
                connection.sendall(code + b" no " + line.strip() + b"\r\n")


def _length(request: bytes) -> int:
    for line in request.partition(b"\r\n\r\n")[0].split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0
