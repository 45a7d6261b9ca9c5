"""Ports of 127.0.0.1 for servers that are told where to listen."""

import socket


def free_port() -> int:
    """A port that nothing listens on now. Another process may take it before the caller does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
