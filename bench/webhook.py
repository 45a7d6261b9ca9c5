"""A webhook on loopback that notes when each notice came."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, NamedTuple


class Arrival(NamedTuple):
    """``ts``: epoch milliseconds."""

    ts: int
    notice: dict[str, Any]


class Webhook:
    """For the length of a ``with`` block."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        arrivals = self.arrivals

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                arrived_ts = time.time_ns() // 1_000_000
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                arrivals.append(Arrival(arrived_ts, json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = Thread(target=self._http.serve_forever, name="webhook", daemon=True)

    def of(self, cluster: str, group: str) -> list[Arrival]:
        """What was told of a group, in order."""
        of_cluster = [one for one in list(self.arrivals) if one.notice["cluster"] == cluster]
        return [one for one in of_cluster if group in one.notice["groups"]]

    def __enter__(self) -> "Webhook":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
