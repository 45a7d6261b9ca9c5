"""All processes of a session: pyspark puts its Python workers into a process group of their own."""

import os
import signal
import subprocess
import time
from contextlib import suppress

import psutil

# Before a command: SIGHUP is not ignored, though whoever runs the tests may have begun them with nohup.
HEARS_SIGHUP = ("env", "--default-signal=HUP")


def processes(leader: int) -> list[int]:
    """The living processes of the session that this process leads or led."""
    return [pid for pid in psutil.pids() if _session_of(pid) == leader and _is_alive(pid)]


def kill_all(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL to the leader and to everything in its session; none is left when this returns."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    while left := processes(process.pid):
        for pid in left:
            kill(pid)
        process.poll()
        time.sleep(0.01)
    process.wait()


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
