"""A server on loopback that answers without an end, and counts the bytes that the other side takes."""

import socket
from collections.abc import Iterator

from tests.sinks.accepting import AcceptingServer

PIECE = 65_536


class EndlessServer(AcceptingServer):
    """``beginning`` once, then ``again`` until nobody takes it. ``taken``: bytes, with those in the kernel's buffers.

    ``reads_request``: whether it waits for a request first, as HTTP does; mail servers speak first.
    """

    def __init__(self, beginning: bytes, again: bytes, *, reads_request: bool = True) -> None:
        super().__init__(sends_at_once=PIECE)
        self.taken = 0
        self._beginning, self._again, self._reads_request = beginning, again, reads_request

    def serve(self, connection: socket.socket) -> None:
        self.asked += 1
        connection.settimeout(0.2)
        with connection:
            if self._reads_request:
                connection.recv(PIECE)
            try:
                for piece in self._pieces():
                    while piece and not self.over.is_set():
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
        while not self.over.is_set():
            yield piece
