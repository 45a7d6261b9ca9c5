"""Processes that can be paused, killed and stopped, and that end with the process that started them."""

import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


class ChildProcess:
    """The lives of a process, each in a session of its own. The program must end when its standard input does.

    In the test's own process group, a process that was stopped would be continued by the kernel when the group loses
    its parent.
    """

    def __init__(self, name: str, command: Sequence[str], home: Path) -> None:
        """``home``: where it runs and writes."""
        self.name = name
        self.log_file = home / f"{name}.log"
        self._command = list(command)
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def last_words(self) -> str:
        return f"{self.name} said at last:\n" + "\n".join(self.log.splitlines()[-15:])

    def start(self) -> None:
        """Returns at once."""
        assert not self.is_running, f"{self.name} runs already"
        self.close()
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._home, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """It ends in good order; returns at once."""
        self._signal(signal.SIGTERM)

    def stop(self, within_s: float = 30) -> None:
        """It ends in good order; returns when it has."""
        self.terminate()
        assert self._process is not None
        self._process.wait(within_s)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def close(self) -> None:
        """Leave nothing of it, in whatever state it is."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, f"{self.name} was never started"
        self._process.send_signal(number)
