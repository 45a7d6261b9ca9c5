"""Whether memory that was freed goes back to the system though pieces in use lie behind it."""

import ctypes
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import psutil
import pytest

from streaming.freed_memory import give_back

MB = 1_000_000
PIECES, PIECE = 1000, 100_000  # below the size from which glibc maps each piece by itself (M_MMAP_THRESHOLD, 128 KiB)


def resident_mb() -> float:
    return float(psutil.Process().memory_info().rss / MB)


def kept_and_given_back_mb() -> tuple[float, float]:
    """How much of the freed pieces the process keeps, and how much of that goes back. A piece in use is behind each."""
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    at_first, pieces = resident_mb(), []
    for _ in range(PIECES):
        pieces.append(libc.malloc(PIECE))
        ctypes.memset(pieces[-1], 1, PIECE)
        libc.malloc(2000)
    for piece in pieces:
        libc.free(piece)
    kept = resident_mb()
    give_back()
    return kept - at_first, kept - resident_mb()


@pytest.mark.slow("a tenth of a second of work and more")
def test_what_was_freed_goes_back_to_the_system() -> None:
    """In a process of its own: one that has done other things may have free memory before, and takes that."""
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("the C library of this machine is not glibc")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        kept, given_back = process.submit(kept_and_given_back_mb).result(60)
    assert kept > 95
    assert given_back > 90
