"""What a Java process counts is read from its file."""

import struct
from pathlib import Path

from bench.endure.hotspot import counters, memory


def perf_file(numbers):
    """As HotSpot writes it, on a machine whose low byte is first."""
    entries = b""
    for name, value in numbers.items():
        text = name.encode() + b"\0"
        at = 20 + len(text) + (-(20 + len(text)) % 8)
        body = struct.pack("=iiiBBBBi", at + 8, 20, 0, ord("J"), 0, 1, 2, at) + text
        entries += body.ljust(at, b"\0") + struct.pack("=q", value)
    return struct.pack(">I", 0xCAFEC0C0) + struct.pack("=BBBBiiqii", 1, 2, 0, 1, 0, 0, 0, 32, len(numbers)) + entries


def test_what_hotspot_counts_is_read(tmp_path: Path):
    numbers = {
        "sun.gc.generation.0.space.0.used": 99 << 20,
        "sun.gc.generation.0.space.1.used": 1 << 20,
        "sun.gc.generation.1.space.0.used": 5 << 20,
        "sun.gc.generation.1.capacity": 8 << 20,
        "sun.gc.metaspace.used": 2 << 20,
        "java.cls.loadedClasses": 100,
        "java.cls.unloadedClasses": 30,
    }
    (tmp_path / "hsperfdata_me").mkdir()
    (tmp_path / "hsperfdata_me" / "42").write_bytes(perf_file(numbers))
    assert counters(42, tmp_path) == numbers
    assert memory(numbers) == {"heap_after_gc_mb": 6, "heap_committed_mb": 8, "metaspace_mb": 2, "classes": 70}
    assert counters(43, tmp_path) == {} == memory({})
    (tmp_path / "hsperfdata_me" / "44").write_bytes(b"\0" * 10)
    assert counters(44, tmp_path) == {}
