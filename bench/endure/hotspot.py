"""The counters that HotSpot keeps of each Java in a file that other processes map: reading them costs Java nothing.

The format: a prologue, then entries with a name and a value (src/hotspot/share/runtime/perfMemory.hpp).
"""

import struct
from collections.abc import Iterator
from pathlib import Path

MAGIC = 0xCAFEC0C0
PROLOGUE = struct.Struct("=4xB3x4x4x8xii")  # byte order (1: little), offset of the first entry, number of entries
ENTRY = struct.Struct("=iiiBBBBi")  # length, name, vector length, type, flags, units, variability, data
LONG = ord("J")
MB = 1 << 20


def counters(pid: int, folder: Path = Path("/tmp")) -> dict[str, int]:
    """The numbers of this Java, by HotSpot's names; empty if it keeps no file. Java ignores TMPDIR here."""
    for file in folder.glob(f"hsperfdata_*/{pid}"):
        return dict(_numbers(file.read_bytes()))
    return {}


def memory(found: dict[str, int]) -> dict[str, float]:
    """What collections leave of the heap, what it has of the machine, and the classes.

    Eden is empty after a collection, so survivors and the old generation are what is left. HotSpot updates
    the old generation's number after a collection only.
    """
    if not found:
        return {}
    left = [f"sun.gc.generation.{name}.used" for name in ("0.space.1", "0.space.2", "1.space.0")]
    kinds = [f"java.cls.{kind}" for kind in ("loadedClasses", "sharedLoadedClasses")]
    gone = [f"java.cls.{kind}" for kind in ("unloadedClasses", "sharedUnloadedClasses")]
    committed = [f"sun.gc.generation.{number}.capacity" for number in (0, 1)]
    return {
        "heap_after_gc_mb": _sum(found, left) / MB,
        "heap_committed_mb": _sum(found, committed) / MB,
        "metaspace_mb": _sum(found, ["sun.gc.metaspace.used"]) / MB,
        "classes": _sum(found, kinds) - _sum(found, gone),
    }


def _sum(found: dict[str, int], names: list[str]) -> int:
    return sum(found.get(name, 0) for name in names)


def _numbers(data: bytes) -> Iterator[tuple[str, int]]:
    if len(data) < PROLOGUE.size or int.from_bytes(data[:4], "big") != MAGIC:
        return
    order, start, number = PROLOGUE.unpack_from(data)
    if order != 1:
        return
    for _ in range(number):
        length, name, vector, kind, _flags, _units, _variability, value = ENTRY.unpack_from(data, start)
        if kind == LONG and vector == 0:
            end = data.index(b"\0", start + name)
            yield data[start + name : end].decode(), struct.unpack_from("=q", data, start + value)[0]
        start += length
