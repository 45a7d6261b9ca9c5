"""The supervisor of the process that writes the projections. It runs beside the caller, and never ends the caller."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

import streaming
from streaming.projections.settings import ProjectionSettings, encoded

log = logging.getLogger(__name__)

RETRY_AFTER_S = 30.0
END_WITHIN_S = 10.0
POLL_S = 0.2
# The folder of this evenkeel replaces the working directory in sys.path, which may contain another evenkeel.
_ROOT = str(Path(streaming.__file__).parents[1])
_PROGRAM = f"import sys; sys.path[0] = {_ROOT!r}; from streaming.projections.process import main; main()"
COMMAND = (sys.executable, "-c", _PROGRAM)


def keep_running(settings: ProjectionSettings, stop: Event, retry_after_s: float = RETRY_AFTER_S) -> None:
    """Keep it running until ``stop``. If it ends, it starts again after a pause. It writes to our standard error."""
    while not stop.is_set():
        try:
            with _process(settings) as process:
                while process.poll() is None and not stop.wait(POLL_S):
                    pass
                if not stop.is_set():
                    log.error("the projections %s; begun again in %g s", ended(process.returncode), retry_after_s)
        except OSError as error:
            log.error("the projections cannot be started: %s; tried again in %g s", error, retry_after_s)
        stop.wait(retry_after_s)


def ended(status: int) -> str:
    """The text of how a process ended, by its status from ``wait``."""
    return f"were killed by signal {-status}" if status < 0 else f"ended with status {status}"


@contextmanager
def _process(settings: ProjectionSettings) -> Iterator[subprocess.Popen[bytes]]:
    """The process. Its standard input stays open until the block ends, or this process ends for any reason."""
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE)
    assert process.stdin is not None
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(encoded(settings))
            process.stdin.flush()
        yield process
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
