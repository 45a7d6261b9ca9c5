"""Java processes that can be paused, killed and stopped, and that end with whoever started them."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from streaming.jvm.java import java_home

JAVA_SOURCES = Path(__file__).parent / "java"
OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Xms32m",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch", "java.lang", "java.util")),
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)


def compile_java(sources: Sequence[Path], jars: Sequence[Path], into: Path) -> None:
    """Raises AssertionError with what the compiler says."""
    command = [str(java_home() / "bin" / "javac"), "-Xlint:all,-serial,-processing,-path,-classfile", "-Werror"]
    command += ["-proc:none", "-cp", os.pathsep.join(map(str, jars)), "-d", str(into), *map(str, sources)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


class JavaProcess:
    """One main class, and the lives of the process that runs it, each in a session of its own.

    In the test's own process group, a process that was stopped would be continued by the kernel when the group loses
    its parent.
    """

    def __init__(self, name: str, command: Sequence[str], classpath: Sequence[Path], home: Path) -> None:
        """``command``: options of the JVM, the main class, its arguments; ``home``: where it writes."""
        self.name = name
        self.log_file = home / f"{name}.log"
        main = next(place for place, word in enumerate(command) if not word.startswith("-"))
        self._command = [str(java_home() / "bin" / "java"), *OPTIONS, f"-Duser.home={home}", *command[:main]]
        self._command += ["-cp", os.pathsep.join(map(str, classpath)), "Supervised", *command[main:]]
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
