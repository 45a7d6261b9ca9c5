"""A server on loopback that answers without an end, and counts the bytes that the other side takes."""

import socket
from collections.abc import Iterator
from threading import Event, Thread

PIECE = 65_536


class EndlessServer:
    """``beginning`` once, then ``again`` until nobody takes it. ``taken``: bytes, with those in the kernel's buffers.

    ``reads_request``: whether it waits for a request first, as HTTP does; mail servers speak first.
    """

    def __init__(self, beginning: bytes, again: bytes, *, reads_request: bool = True) -> None:
        self.taken = 0
        self.asked = 0
        self._beginning, self._again, self._reads_request = beginning, again, reads_request
        self._over = Event()
        self._listening = socket.socket()
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.asked += 1
            Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(0.2)
        with connection:
            if self._reads_request:
                connection.recv(PIECE)
            try:
                for piece in self._pieces():
                    while piece and not self._over.is_set():
                        piece = piece[self._sent(connection, piece) :]
            except OSError:
                pass  # the other side has ended it

    def _sent(self, connection: socket.socket, piece: bytes) -> int:
        try:
            sent = connection.send(piece)
        except TimeoutError:  # nothing is taken for now
            return 0
        self.taken += sent
        return sent

    def _pieces(self) -> Iterator[bytes]:
        yield self._beginning
        piece = self._again * max(1, PIECE // len(self._again))
        while not self._over.is_set():
            yield piece

    def __enter__(self) -> "EndlessServer":
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._listening.close()
