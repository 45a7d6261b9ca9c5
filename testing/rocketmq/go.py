"""The Go programs in ``go_client`` and ``go_grpc_client``: clients of both SDKs, built by the machine's own Go."""

import os
import shutil
import subprocess
from pathlib import Path

GO_SOURCES = Path(__file__).parent / "go_client"
GO_GRPC_SOURCES = Path(__file__).parent / "go_grpc_client"
LANGUAGE, VERSION = "GO", 317  # as brokers list it: codec.go says the same version in every release of 2.x


def missing_go() -> str:
    """What to do where there is no Go; empty where there is."""
    return "" if shutil.which("go") else "no `go` on the path: apt-get install golang-go"


def build(sources: Path, into: Path) -> Path:
    """The program. Modules come through Go's own proxy into its own cache, outside of this repository."""
    program = into / sources.name
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(program), "."]
    done = subprocess.run(
        command, cwd=sources, env={**os.environ, "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return program
