"""What the system says of itself: Python, memory, the folders' disks, Java and jars."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from streaming.config.sections import Config
from streaming.doctor.checks import Check, Processes
from streaming.doctor.judgement import machine as judge
from streaming.errors import SetupError
from streaming.jvm.jars import cache_dir, fault_in
from streaming.jvm.java import java_home
from streaming.jvm.pins import set_name
from streaming.spark.packages import spark_packages
from streaming.tables.storage import local_path

MEMORY = Path("/proc/meminfo")
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
JAVA_ANSWERS_WITHIN_S = 20


def checks(config: Config, processes: Processes) -> Iterator[Check]:
    yield judge.python(sys.version_info[:3])
    total, available = _memory()
    yield judge.memory(total, available, _limit(), "run" in processes)
    folders = list(_folders(config, processes))
    for key, path in folders:
        try:
            yield judge.folder(key, str(path), disk_of(path))
        except OSError as error:
            yield judge.folder(key, str(path), None, error.strerror or str(error))
    if folders and os.geteuid() == 0:
        yield judge.user_is_root()


def java_checks(config: Config) -> Iterator[Check]:
    try:
        home = java_home()
        yield judge.java(str(home), _version(home))
    except SetupError as error:
        yield judge.java(None, "", str(error))
    named = config.spark.jars_folder
    place = Path(named) if named else cache_dir() / "jars"
    name = set_name(spark_packages())
    folder = place / name
    try:
        fault = fault_in(place, spark_packages())
    except SetupError as error:  # this version of pyspark was never tried
        fault = str(error)
    yield judge.jars(str(place), name, len(list(folder.glob("*.jar"))), fault, bool(named), folder.is_dir())


def disk_of(path: Path) -> judge.Disk:
    """The file system of the folder, or of the nearest one above that is there. Raises OSError."""
    nearest = path.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    found = os.statvfs(nearest)
    return judge.Disk(
        nearest=str(nearest),
        is_there=path.is_dir(),
        is_writable=nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK),
        is_read_only=bool(found.f_flag & os.ST_RDONLY),
        free_bytes=found.f_bavail * found.f_frsize,
        inodes=found.f_files,
        free_inodes=found.f_favail,
    )


def _folders(config: Config, processes: Processes) -> Iterator[tuple[str, Path]]:
    """The local folders to which these processes write, with their keys."""
    named = {
        "tables.path": (config.tables.path, {"run", "notify"}),
        "job.checkpoint": (config.job.checkpoint, {"run"}),
        "notify.state": (config.notify.state, {"run", "notify"}),
        "collector.state": (config.collector.state, {"collect"}),
    }
    for key, (address, users) in named.items():
        path = local_path(address)
        if path is not None and processes & users:
            yield key, path
    if "run" in processes and not config.spark.jars_folder:
        yield "EVENKEEL_CACHE", cache_dir()


def _memory() -> tuple[int | None, int | None]:
    """The bytes in all, and those that are available."""
    try:
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB$", MEMORY.read_text("utf-8"), re.MULTILINE))
    except OSError:
        return None, None
    total, available = (int(found[name]) * 1024 if name in found else None for name in ("MemTotal", "MemAvailable"))
    return total, available


def _limit() -> int | None:
    for path in LIMITS:
        try:
            text = path.read_text("ascii").strip()
        except OSError:
            continue
        return int(text) if text.isdecimal() else None
    return None


def _version(home: Path) -> str:
    """The first line of ``java -version``, which has run before: ``java_home`` asks each Java."""
    try:
        said = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=JAVA_ANSWERS_WITHIN_S
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"its version is not known: {error}"
    return said.partition("\n")[0].strip()
