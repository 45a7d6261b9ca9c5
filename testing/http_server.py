"""A real HTTP server on loopback that fails on demand."""

import json
import socket
import struct
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from streaming.wall_clock import now_ms


@dataclass(frozen=True)
class Got:
    """``ts``: when its headers had been read, epoch milliseconds."""

    path: str
    headers: dict[str, str]
    body: bytes
    ts: int

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body)


class Answer(NamedTuple):
    """``status`` 0: read the request and reset the connection; -1: never answer. ``takes``: it counts as received.

    ``raw``: these bytes are the whole answer, and then the connection closes; ``pause_s``: so long after each of them.
    """

    status: int = 200
    body: bytes = b'{"status":"success"}'
    headers: tuple[tuple[str, str], ...] = ()
    takes: bool | None = None
    raw: bytes = b""
    pause_s: float = 0


class Server:
    """Answers as ``script`` says, then as ``always``. ``taken`` are the requests that it acted upon."""

    def __init__(self, *script: Answer, always: Answer | None = None, port: int = 0) -> None:
        self.script = list(script)
        self.always = always or Answer()
        self.got: list[Got] = []
        self.taken: list[Got] = []
        self.over = Event()
        self._lock = Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer._answer(self)

            do_GET = do_POST

            def log_message(self, *arguments: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        ts = now_ms()
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        got = Got(request.path, dict(request.headers.items()), body, ts)
        with self._lock:
            self.got.append(got)
            answer = self.script.pop(0) if self.script else self.always
            if answer.takes if answer.takes is not None else 200 <= answer.status < 300:
                self.taken.append(got)
        if answer.status == -1:
            self.over.wait()
        if answer.status <= 0:
            linger = struct.pack("ii", 1, 0)
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            request.connection.close()
            request.rfile.close()
            request.close_connection = True
            return
        if answer.raw:
            self._write_raw(request, answer)
            return
        request.send_response(answer.status)
        for name, value in (*answer.headers, ("Content-Length", str(len(answer.body)))):
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(answer.body)

    def _write_raw(self, request: BaseHTTPRequestHandler, answer: Answer) -> None:
        request.close_connection = True
        pieces = [answer.raw[n : n + 1] for n in range(len(answer.raw))] if answer.pause_s else [answer.raw]
        try:
            for piece in pieces:
                request.wfile.write(piece)
                self.over.wait(answer.pause_s)
        except OSError:
            pass  # the client has given up

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
