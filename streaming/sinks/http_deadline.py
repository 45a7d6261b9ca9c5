"""HTTP requests that end in time, however slowly the other side answers.

The time-outs of ``requests`` hold for each read: a server that sends one byte every second is waited for without end.
Here a timer shuts the socket down when the whole exchange has taken too long.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import Any

import requests
from requests.adapters import HTTPAdapter


@contextmanager
def session(limit_s: float) -> Iterator[requests.Session]:
    """A session for one exchange, that is ended ``limit_s`` seconds after this call.

    What is read after that raises, as if the other side had broken the connection off.
    """
    sockets = _Sockets()
    timer = Timer(limit_s, sockets.shut)
    timer.daemon = True
    with requests.Session() as update_pages:
        update_pages.mount("http://", _Watched(sockets))
        update_pages.mount("https://", _Watched(sockets))
        timer.start()
        try:
            yield update_pages
        finally:
            timer.cancel()
            sockets.close()


class _Sockets:
    """A second handle of each socket that was opened: TLS takes the first one over."""

    def __init__(self) -> None:
        self._handles: list[socket.socket] = []
        self._is_over = False
        self._lock = Lock()

    def add(self, update_pages: socket.socket) -> None:
        with self._lock:
            self._handles.append(socket.socket(fileno=os.dup(update_pages.fileno())))
        if self._is_over:
            self.shut()

    def shut(self) -> None:
        with self._lock:
            self._is_over = True
            for handle in self._handles:
                with suppress(OSError):  # the other side was quicker
                    handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            for handle in self._handles:
                handle.close()
            self._handles.clear()


class _Watched(HTTPAdapter):
    """Reports each socket that it opens to ``_Sockets``."""

    def __init__(self, sockets: _Sockets) -> None:
        self._sockets = sockets
        super().__init__()

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        sockets, plain = self._sockets, pool.ConnectionCls

        class Connection(plain):  # type: ignore[misc, valid-type]
            def _new_conn(self) -> socket.socket:
                update_pages: socket.socket = super()._new_conn()
                sockets.add(update_pages)
                return update_pages

        pool.ConnectionCls = Connection
        return pool
