"""Programs for tests that come as source: the machine's own Go builds each once, into the cache of downloads."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from streaming.jvm.jars import cache_dir

BUILT_WITHIN_S = 1500  # minio has over 1,000 packages


class Program(NamedTuple):
    """A Go program. Its version is pinned, and Go compares its checksum with the public list."""

    name: str
    package: str
    version: str
    built_by: str


def path_of(program: Program) -> Path:
    return cache_dir() / "go" / f"{program.name}-{program.version}" / program.name


def missing(program: Program) -> str:
    """What to do where the program is not there; empty where it is. Tests do not build it: that takes minutes."""
    if path_of(program).is_file():
        return ""
    if not shutil.which("go"):
        return f"no {program.name}, and no `go` to build it: apt-get install golang-go, then {program.built_by}"
    return f"no {program.name}: {program.built_by} builds it"


def build(program: Program) -> None:
    """Build it unless it is there."""
    path = path_of(program)
    if path.is_file():
        return
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent.parent) as scratch:
        flags = "-buildvcs=false -modcacherw"  # modules that are read-only could not be deleted with their folder
        settings = {"GOBIN": scratch, "GOFLAGS": flags, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
        command = ["go", "install", f"{program.package}@{program.version}"]
        subprocess.run(command, env={**os.environ, **settings}, check=True, timeout=BUILT_WITHIN_S)
        path.parent.mkdir(exist_ok=True)
        Path(scratch, program.name).replace(path)
