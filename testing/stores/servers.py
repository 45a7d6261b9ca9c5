"""Real S3 servers on loopback: minio and versitygw, built once by the machine's own Go into the cache of downloads."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from pyarrow.fs import S3FileSystem

from streaming.loopback.ports import free_port
from testing.go_programs import Program, build, path_of
from testing.servers import Servers

KEY, SECRET, REGION = "evenkeel", "evenkeel-secret", "us-east-1"
BUCKET = "bucket"
READY_WITHIN_S = 60
BUILDS = "python -m testing.stores.servers"


MINIO = Program("minio", "github.com/minio/minio", "v0.0.0-20260212201848-7aac2a2c5b7c", f"{BUILDS} minio")
VERSITYGW = Program("versitygw", "github.com/versity/versitygw/cmd/versitygw", "v1.8.0", f"{BUILDS} versitygw")
PROGRAMS = (MINIO, VERSITYGW)


class LoopbackStore(Servers):
    """One server with one bucket, which is deleted with it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._home = Path(tempfile.mkdtemp(prefix=f"evenkeel-{program.name}-"))
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which deltalake and obstore reach it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION, "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip

    def pause(self) -> None:
        """Let it answer nothing, with its connections open. Its threads stop one after the other."""
        self._signal("STOP")
        assert self._process is not None
        threads = psutil.Process(self._process.pid).threads
        while any(psutil.Process(thread.id).status() != psutil.STATUS_STOPPED for thread in threads()):
            time.sleep(0.01)

    def go_on(self) -> None:
        self._signal("CONT")

    def _signal(self, name: str) -> None:
        assert self._process is not None
        subprocess.run(["kill", f"-{name}", str(self._process.pid)], check=True)

    def _open(self) -> None:
        data = self._home / "data"
        data.mkdir()
        with (self._home / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(path_of(self.program)), *self._arguments(data)], cwd=self._home, stdout=log, stderr=log,
                env={**os.environ, **self._variables()},
            )  # fmt: skip
        files = S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            region=REGION,
            endpoint_override=self.endpoint,
            allow_bucket_creation=True,
        )
        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                return files.create_dir(BUCKET)
            except OSError as error:
                said = (self._home / "log").read_text("utf-8", "replace")[-2000:]
                assert self._process.poll() is None, f"{self.program.name} ended at once: {said}"
                assert time.monotonic() < deadline, f"{self.program.name} is not ready: {error}; it said: {said}"
                time.sleep(0.2)

    def _close(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait(10)
        shutil.rmtree(self._home, ignore_errors=True)

    def _arguments(self, data: Path) -> list[str]:
        address = f"127.0.0.1:{self._port}"
        if self.program is MINIO:
            return [
                "server",
                str(data),
                "--address",
                address,
                "--console-address",
                f"127.0.0.1:{free_port()}",
                "--quiet",
            ]
        return ["--port", address, "--quiet", "--keep-alive", "posix", str(data)]

    def _variables(self) -> dict[str, str]:
        if self.program is MINIO:
            return {"MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET, "MINIO_BROWSER": "off"}
        return {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}


if __name__ == "__main__":  # the names of those to build; minio takes eight minutes of the processor
    for one in PROGRAMS:
        if one.name in sys.argv[1:]:
            build(one)
