"""What systemd learns about this process: that it is ready, works, waits or stops (``sd_notify(3)``).

The work itself sends it, and no thread beside the work. If the work hangs, nothing is sent, and the watchdog of systemd
starts the process again. Without ``$NOTIFY_SOCKET`` nothing is sent.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from streaming.secret_mask import masked

SEND_WITHIN_S = 1.0  # systemd reads slowly while a machine starts
LONGEST_STATUS = 200
log = logging.getLogger(__name__)


def send(*assignments: str) -> None:
    """Send one message, such as ``READY=1``. A message that systemd does not take is lost: it never ends the work."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address[:1] not in ("/", "@"):  # not under systemd, or in a machine of its own (vsock)
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.settimeout(SEND_WITHIN_S)
            sending.sendto("\n".join(assignments).encode(), address)
    except OSError as error:
        log.debug("systemd does not take %s: %s", assignments[0], error)


def stopping() -> None:
    send("STOPPING=1", "STATUS=stopping")


class ServiceState:
    """The state of a service. ``parts``: the parts of its work. Only once each of them has gone on since the last
    message, the next one is sent. ``troubles``: the lines of /readyz.
    """

    def __init__(self, parts: Iterable[str], troubles: Callable[[], Sequence[str]]) -> None:
        self._parts, self._troubles = frozenset(parts), troubles
        self._went_on: set[str] = set()
        self._lock = Lock()

    def went_on(self, part: str) -> None:
        """Note that a part of the work has made a step. Each part calls this from its own loop."""
        with self._lock:
            self._went_on.add(part)
            if not self._went_on >= self._parts:
                return
            self._went_on.clear()
        self.tell()

    def tell(self) -> None:
        """Send that the process is ready, and alive now. Who waits for another process calls this at each look."""
        troubles = self._troubles()
        more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
        send("READY=1", "WATCHDOG=1", f"STATUS={_one_line(troubles[0])}{more}" if troubles else "STATUS=works")


def _one_line(text: str) -> str:
    shown = " ".join(masked(text).split())[:LONGEST_STATUS]
    return "".join(one if one.isprintable() else "?" for one in shown)
