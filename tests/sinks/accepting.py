"""A server on loopback that gives each connection a thread: how it answers is up to the class that inherits it."""

import socket
from threading import Event, Thread
from typing import TypeVar

Server = TypeVar("Server", bound="AcceptingServer")


class AcceptingServer:
    """``over`` is set at the end of the block: what still serves a connection ends then."""

    def __init__(self, *, sends_at_once: int | None = None) -> None:
        """``sends_at_once``: how many bytes the kernel takes of a connection whose other side reads none."""
        self.over = Event()
        self.asked = 0
        self._listening = socket.socket()
        if sends_at_once is not None:
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sends_at_once)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        self.port = int(self._listening.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def _accept(self) -> None:
        while not self.over.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            Thread(target=self.serve, args=(connection,), daemon=True).start()

    def __enter__(self: Server) -> Server:
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self._listening.close()
