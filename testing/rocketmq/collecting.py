"""``evenkeel collect`` as a process of its own."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from schemas.facts import Fact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.replay.core_engine import core_facts
from testing.job import EVENKEEL, PATIENCE_S, child_environment


class Collecting:
    """For the length of a `with` block, which fails unless it ends as it should. It can be killed and started again."""

    def __init__(self, config: Path, recording: Path) -> None:
        self._command = [*EVENKEEL, "collect", "--config", str(config), "--record", str(recording)]
        self._log_file = config.with_name("collect.log")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        return self._log_file.read_text(errors="replace")

    def __enter__(self) -> "Collecting":
        self.start()
        return self

    def start(self) -> None:
        """Begin a life; returns when it watches."""
        lives = self.log.count("watching") if self._log_file.exists() else 0
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._log_file.parent,
                env=child_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE_S
        while self.log.count("watching") == lives:
            assert self._process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.1)

    def kill(self) -> None:
        """With SIGKILL: it has no time to write anything down."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(30)
        finally:
            self._process.kill()
            self._process.wait()
        if kind is None:
            assert status == 0, self.log


class Judging:
    """A collector that writes events to a file, and what the core makes of those that are there by now."""

    def __init__(self, folder: Path, namesrv: str, include: Sequence[str] = ("*",)) -> None:
        """``include``: patterns of groups."""
        self.events = folder / "events.jsonl"
        keys = {
            "clusters.real": namesrv, "include": list(include), "output": "file", "file": str(self.events),
            "state": str(folder / "state"),
        }  # fmt: skip
        config = folder / "evenkeel.toml"
        config.write_text("[collector]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
        self.collecting = Collecting(config, folder / "recording.jsonl.gz")

    def facts(self) -> list[Fact]:
        whole, _, _ = self.events.read_bytes().rpartition(b"\n")
        return core_facts(whole.splitlines(), DEFAULT_SETTINGS)
