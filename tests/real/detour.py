"""A way to a cluster that can be cut: for a client that comes this way, one broker is at another port.

The name server's answers are passed on with the broker's port changed for one with as many digits. Everything is on
loopback, and a client that does not come this way notices nothing.
"""

import socket
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import NamedTuple

CHUNK = 65_536


class Change(NamedTuple):
    """One text in place of another, of the same length, so that frames stay as long as they say they are."""

    old: bytes
    new: bytes


class Detour:
    """For the length of a `with` block: to ``namesrv``, and through it to one broker."""

    def __init__(self, namesrv: str, broker_address: str) -> None:
        self._broker = Forwarder(broker_address)
        change = Change(broker_address.encode(), self._broker.address.encode())
        assert len(change.old) == len(change.new), change
        self._names = Forwarder(namesrv, change)
        self.namesrv = self._names.address

    def __enter__(self) -> "Detour":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._broker.close()
        self._names.close()

    def cut(self) -> None:
        """The broker can't be reached any more; its connections end."""
        self._broker.close()

    def mend(self) -> None:
        self._broker.open()


class Forwarder:
    """Passes on what comes to ``address``, and what is answered, until it is closed. It can be opened again."""

    def __init__(self, target: str, change: Change | None = None) -> None:
        self._target = target
        self._change = change
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self.address = "127.0.0.1:0"
        self.open()
        host, port = self._listener.getsockname()
        self.address = f"{host}:{port}"

    def open(self) -> None:
        self._listener = socket.create_server(_place(self.address))
        Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Also what goes through it now."""
        for one in (self._listener, *(end for pair in self._pairs for end in pair)):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._pairs = []

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                try:
                    far = socket.create_connection(_place(self._target))
                except OSError:
                    near.close()
                    continue
                self._pairs.append((near, far))
                if listener.fileno() < 0:  # closed meanwhile
                    near.close()
                    far.close()
                    return
                Thread(target=_pass_on, args=(near, far, None), daemon=True).start()
                Thread(target=_pass_on, args=(far, near, self._change), daemon=True).start()


def _place(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def _pass_on(source: socket.socket, sink: socket.socket, change: Change | None) -> None:
    """Until either end closes; then both are closed."""
    with suppress(OSError):
        while data := _received(source, change):
            sink.sendall(data)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


def _received(source: socket.socket, change: Change | None) -> bytes:
    """Some bytes; a whole frame where something is to be changed in it. Nothing at the end."""
    if change is None:
        return source.recv(CHUNK)
    length = source.recv(4, socket.MSG_WAITALL)
    body = source.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
    return (length + body).replace(change.old, change.new)
