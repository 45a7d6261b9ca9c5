"""Whether memory that was freed goes back to the system though pieces in use lie behind it."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.freed_memory import give_back

MB = 1_000_000
PIECE = 100_000  # below the size from which glibc maps each piece by itself (M_MMAP_THRESHOLD, 128 KiB)


def resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / MB for line in lines if line.startswith("VmRSS:"))


@pytest.fixture
def held_together() -> Iterator[list[int]]:
    """1,000 freed pieces of 100 KB. A small piece in use lies behind each of them."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_trim"):
        pytest.skip("the C library of this machine is not glibc")
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    large, small = [], []
    for _ in range(1000):
        large.append(libc.malloc(PIECE))
        small.append(libc.malloc(2000))
        ctypes.memset(large[-1], 1, PIECE)
    for piece in large:
        libc.free(piece)
    yield small
    for piece in small:
        libc.free(piece)


def test_what_was_freed_goes_back_to_the_system(held_together: list[int]) -> None:
    before = resident_mb()
    give_back()
    assert resident_mb() < before - 80
