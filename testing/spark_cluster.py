"""Spark's own cluster on this machine's loopback: a master, and workers that can be killed and added."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyspark

from streaming.jvm.java import java_home
from streaming.loopback.ports import free_port
from testing.process_session import kill_all, processes
from testing.servers import Servers

BIN = Path(pyspark.__file__).parent / "bin"
SPARK_SUBMIT = str(BIN / "spark-submit")
PATIENCE_S = 90


class Worker:
    """One worker with its executors and their Python, in a session of its own: as a machine, they end together."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self._folder = folder
        self._process = process

    @property
    def executors(self) -> set[str]:
        """The ids of the executors that it has started: each has a folder of its own."""
        return {path.name for path in self._folder.glob("app-*/*")}

    def kill(self) -> None:
        """SIGKILL to all of it, as if the machine were gone."""
        kill_all(self._process)

    def pids(self) -> list[int]:
        return processes(self._process.pid)


class SparkCluster(Servers):
    """A standalone cluster for the length of a ``with`` block; each process writes a log into ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._web = free_port()
        self.master = f"spark://127.0.0.1:{free_port()}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        port = self.master.rpartition(":")[2]
        where = ("--host", "127.0.0.1", "--port", port, "--webui-port", str(self._web))
        self._start("master", "org.apache.spark.deploy.master.Master", *where)
        self._wait_until(lambda: self._state() is not None, "the master answers")

    def add_worker(self, name: str, cores: int = 1, memory: str = "600m") -> Worker:
        """Returns when the master knows it."""
        before = self._alive_workers()
        worker = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", str(free_port()))
        room = ("--cores", str(cores), "--memory", memory, "--work-dir", str(self._folder / name))
        process = self._start(name, *worker, *room, self.master)
        self._wait_until(lambda: self._alive_workers() > before, f"{name} has registered")
        return Worker(self._folder / name, process)

    def _start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(BIN / "spark-class"), *arguments],
                env={**spark_environment(), "SPARK_DAEMON_MEMORY": "256m"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _alive_workers(self) -> int:
        state = self._state() or {}
        return int(state.get("aliveworkers", 0))

    def _state(self) -> dict[str, Any] | None:
        """What the master's page says; None while it does not answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self._web}/json/", timeout=5) as page:
                found: dict[str, Any] = json.load(page)
                return found
        except OSError:
            return None

    def _wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}; {self._folder} has the logs"
            time.sleep(0.2)

    def _close(self) -> None:
        for process in reversed(self._processes):
            kill_all(process)


def spark_environment() -> dict[str, str]:
    """For Spark's own scripts: this Java and this Python, and names that only loopback has."""
    mine = {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **mine}
