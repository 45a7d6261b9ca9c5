"""Bounds for the answer of another server: for its bytes and for its time.

The time-outs of ``requests`` and ``smtplib`` are for each read. So they wait without end for a server that sends one
byte every second, and read a gigabyte to its end.
"""

import io
import os
import socket
from contextlib import suppress
from threading import Lock, Timer

MOST_BYTES = 65_536  # of one answer, its headers included


class BoundedReader(io.RawIOBase):
    """The bytes that a socket receives. After MOST_BYTES it reads as if the server had closed the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._raw = connection.makefile("rb", buffering=0)
        self._left = MOST_BYTES
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MOST_BYTES)  # no more waits unread

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        if not self._left:
            return 0
        taken = self._raw.readinto(memoryview(buffer)[: self._left])
        self._left -= taken or 0
        return taken

    def begin_answer(self) -> None:
        """Begin to count the bytes of the next answer of the same connection."""
        self._left = MOST_BYTES

    def close(self) -> None:
        self._raw.close()
        super().close()


class Deadline:
    """A deadline that shuts down the sockets of one exchange ``limit_s`` seconds after it is made.

    A read after that raises, as if the server had broken the connection.
    """

    def __init__(self, limit_s: float) -> None:
        self._handles: list[socket.socket] = []  # a second handle of each: TLS takes the first one over
        self._is_over = False
        self._lock = Lock()
        self._timer = Timer(limit_s, self._shut)
        self._timer.daemon = True
        self._timer.start()

    def add(self, opened: socket.socket) -> None:
        with self._lock:
            self._handles.append(socket.socket(fileno=os.dup(opened.fileno())))
        if self._is_over:
            self._shut()

    def close(self) -> None:
        """End the exchange: no socket is shut down any more."""
        self._timer.cancel()
        with self._lock:
            for handle in self._handles:
                handle.close()
            self._handles.clear()

    def _shut(self) -> None:
        with self._lock:
            self._is_over = True
            for handle in self._handles:
                with suppress(OSError):  # the server has closed it already
                    handle.shutdown(socket.SHUT_RDWR)
