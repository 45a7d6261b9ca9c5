"""Which answer belongs to which request of a connection: bytes in, bytes out, no sockets."""

from collections.abc import Iterator

from streaming.collector.wire.frames import Frame, FrameReader, encode_request
from streaming.collector.wire.requests import Request


class Exchange:
    """A request and its answer have the same ``opaque``."""

    def __init__(self) -> None:
        self._reader = FrameReader()
        self._most_bytes: dict[int, int] = {}  # of each answer that is waited for
        self._last_opaque = 0

    @property
    def held(self) -> int:
        """Bytes of an answer that is not whole."""
        return self._reader.held

    def begin(self, request: Request) -> tuple[int, bytes]:
        """The request's ``opaque``, and what to send."""
        self._last_opaque += 1
        self._most_bytes[self._last_opaque] = request.most_bytes
        return self._last_opaque, encode_request(request.code, self._last_opaque, request.fields)

    def end(self, opaque: int) -> None:
        """Nobody waits for this answer any more."""
        self._most_bytes.pop(opaque, None)

    def receive(self, data: bytes) -> Iterator[Frame]:
        """The answers that are whole now and are waited for. Raises FrameError.

        Late answers, and requests that the broker itself sends, are dropped.
        """
        for frame in self._reader.feed(data, max(self._most_bytes.values(), default=0)):
            if frame.is_response and frame.opaque in self._most_bytes:
                yield frame
