"""`evenkeel run` as a process of its own, with its JVM and its Python workers: started, watched, killed, stopped."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from deltalake import DeltaTable

from streaming.projections.progress import read_progress
from testing.process_session import kill, kill_all, processes

ROOT = Path(__file__).parents[2]
EVENKEEL = [sys.executable, "-m", "streaming"]
PATIENCE_S = 600  # with a busy machine
# A short life is mostly compilation.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

Values = Mapping[str, Mapping[str, Any]]


class Progress(NamedTuple):
    """The newest batch that was begun and the newest that is done; -1 before the first."""

    begun: int
    done: int

    @property
    def pending(self) -> int | None:
        """The batch that a restart will do again."""
        return self.begun if self.begun > self.done else None


class Job:
    """One configuration, its checkpoint and its tables in ``folder``, and the lives of the process that runs it."""

    def __init__(self, folder: Path, bootstrap_servers: str, topic: str, values: Values | None = None) -> None:
        self.folder = folder
        self.checkpoint = folder / "checkpoint"
        self.tables = folder / "tables"
        self.values: dict[str, dict[str, Any]] = {
            "source": {"topic": topic, "bootstrap_servers": bootstrap_servers},
            "tables": {"path": str(self.tables)},
            "job": {"checkpoint": str(self.checkpoint), "shards": 4, "trigger_seconds": 0, "projection_seconds": 1},
            "collector": {"state": str(folder / "collector")},
            "spark": {"master": "local[2,4]"},
            "spark.settings": {"spark.driver.extraJavaOptions": QUICK_JAVA, "spark.sql.shuffle.partitions": 2},
        }
        folder.mkdir(parents=True, exist_ok=True)
        self.configure(values or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def config(self) -> Path:
        return self.folder / "evenkeel.toml"

    @property
    def log(self) -> str:
        """Everything that its lives have said."""
        return (self.folder / "job.log").read_text(errors="replace")

    def configure(self, values: Values) -> None:
        """Change keys of the configuration file, for the next life."""
        for section, keys in values.items():
            self.values.setdefault(section, {}).update(keys)
        sections = (
            "\n".join([f"[{section}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in keys.items())])
            for section, keys in self.values.items()
        )
        self.config.write_text("\n\n".join(sections) + "\n")

    def begin_checkpoint(self, name: str, shards: int) -> None:
        """Name a new folder for the checkpoint, for the next life."""
        self.checkpoint = self.folder / name
        self.configure({"job": {"checkpoint": str(self.checkpoint), "shards": shards}})

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Another command on the same configuration, to its end."""
        command = [*EVENKEEL, *words, "--config", str(self.config)]
        return subprocess.run(
            command, cwd=self.folder, env=child_environment(), capture_output=True, text=True, timeout=PATIENCE_S
        )

    def start(
        self,
        command: list[str] | None = None,
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """Begin a life, in a session of its own, so that everything that belongs to it can be found."""
        with (self.folder / "job.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*(command or EVENKEEL), "run", "--config", str(self.config), *options],
                cwd=self.folder,
                env={**child_environment(), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """SIGKILL to the process, its JVM and its Python workers, and none is left when this returns."""
        process, self._process = self._process, None
        assert process is not None
        kill_all(process)

    def kill_python(self) -> int:
        """SIGKILL to the process alone: its JVM ends by itself, a moment later. Returns the process id."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        return self._process.pid

    def stop(self) -> tuple[int, float]:
        """SIGTERM to the process alone; its exit status and how long it took, in seconds."""
        process, self._process = self._process, None
        assert process is not None
        began = time.monotonic()
        process.terminate()
        try:
            status = process.wait(PATIENCE_S)
        finally:
            took = time.monotonic() - began
            for pid in processes(process.pid):
                kill(pid)
        return status, took

    def finish(self, offsets: Mapping[str, int]) -> None:
        """Start it unless it runs, let it catch up with everything below these offsets, and stop it."""
        if self._process is None:
            self.start()
        self.catch_up(offsets)
        assert self.stop()[0] == 0, self.last_words()

    def catch_up(self, offsets: Mapping[str, int]) -> None:
        """Until everything below these offsets is read, and in every projection."""
        self.wait_until(lambda: self.has_read(offsets), f"it had read up to {dict(offsets)}")
        version = DeltaTable(str(self.tables / "facts")).version()
        self.wait_until(lambda: self.is_projected(version), f"the projections had read commit {version}")

    def wait_until(self, condition: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
        """Fails when the process ends before, or when it takes too long."""
        deadline = time.monotonic() + within_s
        while not condition():
            assert self.is_running(), f"it ended before {what}: {self.last_words()}"
            assert time.monotonic() < deadline, f"{within_s} s were not enough until {what}: {self.last_words()}"
            time.sleep(0.05)

    def java(self) -> int:
        """The process id of its JVM."""
        assert self._process is not None
        (pid,) = [pid for pid in processes(self._process.pid) if psutil.Process(pid).name() == "java"]
        return pid

    def workers(self) -> list[int]:
        """The process ids of the Python workers of its JVM."""
        return [child.pid for child in psutil.Process(self.java()).children(recursive=True) if "python" in child.name()]

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End what still runs, for whatever reason the test has ended."""
        if self._process is not None:
            self.kill()

    def batches(self) -> Progress:
        """How far detection is."""
        return _progress(self.checkpoint)

    def projections(self) -> Progress:
        """The same of the projections' own batches."""
        progress = read_progress(str(self.tables))
        if progress is None:
            return Progress(-1, -1)
        return Progress(progress.batch_id - (progress.pending is None), progress.batch_id - 1)

    def has_read(self, offsets: Mapping[str, int]) -> bool:
        """Whether it is done with all records below these offsets."""
        done = self.batches().done
        if done < 0:
            return False
        (read,) = json.loads((self.checkpoint / "offsets" / str(done)).read_text().splitlines()[2]).values()
        return bool(read == dict(offsets))

    def is_projected(self, version: int) -> bool:
        """Whether the projections are done with this commit of ``facts`` and all before it."""
        progress = read_progress(str(self.tables))
        return progress is not None and progress.done.version > version

    def last_words(self) -> str:
        return "\n".join(self.log.splitlines()[-30:])


def child_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _progress(checkpoint: Path) -> Progress:
    return Progress(_newest(checkpoint / "offsets"), _newest(checkpoint / "commits"))


def _newest(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("*") if path.name.isdecimal()), default=-1)
