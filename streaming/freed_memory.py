"""Memory that this process has freed goes back to the system. The C library keeps most of it otherwise.

glibc gives back by itself what is free at the end of a heap; a piece in use behind it holds all of it. Java does the
same for its own process (``TRIMMED`` in ``streaming.spark.session``).
"""

import ctypes
import time
from threading import Thread

GIVEN_BACK_EVERY_S = 60.0


def keep_giving_back() -> None:
    """Give it back each minute, in a thread, for as long as the process lives."""
    Thread(target=_give_back_each_minute, name="freed-memory", daemon=True).start()


def give_back() -> None:
    """Give back all that is free now. Where the C library is not glibc, nothing happens."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _give_back_each_minute() -> None:
    while True:
        time.sleep(GIVEN_BACK_EVERY_S)
        give_back()
