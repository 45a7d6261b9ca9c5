"""Ports of loopback for programs that cannot listen on port 0 and say which one they were given."""

import socket
from contextlib import ExitStack
from random import SystemRandom

# Below those that the kernel gives to outgoing connections (net.ipv4.ip_local_port_range): a broker needs seconds until
# it listens, and a connection could have its port by then.
PORTS = range(20_000, 32_000)
_claims = ExitStack()


def free_port(*offsets: int) -> int:
    """A port that nothing listens on, and so those at these distances from it. No call gives it again, in any process,
    while this one lives: a UDP socket of the same number is the claim.
    """
    while True:
        port = SystemRandom().choice(PORTS)  # whatever a test seeds
        with ExitStack() as claims:
            try:
                for number in (port, *(port + offset for offset in offsets)):
                    claims.enter_context(socket.socket(type=socket.SOCK_DGRAM)).bind(("127.0.0.1", number))
                    with socket.socket() as listener:
                        listener.bind(("127.0.0.1", number))
            except OSError:
                continue
            _claims.enter_context(claims.pop_all())
            return port
