"""The machine on which the figures were measured."""

import os
import platform
import re
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import psutil

from bench.results import Results
from streaming.jvm.java import java_home

LOOP_TURNS = 5_000_000
PACKAGES = ("pyspark", "delta-spark", "pyarrow", "pandas", "numpy", "msgspec", "deltalake")


def measure(results: Results, quick: bool) -> None:
    with results.part("machine"):
        results.put("machine", {**machine(), "quick": quick})


def machine() -> dict[str, object]:
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "os": f"{platform.system()} {platform.machine()}",
        "java": _java(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "load_at_start": [round(load, 2) for load in os.getloadavg()],
    }


def plain_loop_s(turns: int = LOOP_TURNS) -> float:
    """The time of this thread for a loop of so many additions: the machine's speed while other figures are measured."""
    began_s, total = time.thread_time(), 0
    for number in range(turns):
        total += number & 7
    return time.thread_time() - began_s


def _cpu() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else platform.processor() or "unknown"


def _java() -> str:
    said = subprocess.run([java_home() / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30).stderr
    match = re.search(r'version "([^"]+)"', said)
    return match[1] if match else said.strip()
