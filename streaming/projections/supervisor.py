"""Keeps the process that writes the projections running, beside whatever the caller does. It never ends the caller."""

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
# The folder in which this evenkeel was found takes the place of the working directory, which might hold another.
_ROOT = str(Path(streaming.__file__).parents[1])
_PROGRAM = f"import sys; sys.path[0] = {_ROOT!r}; from streaming.projections.process import main; main()"
COMMAND = (sys.executable, "-c", _PROGRAM)


def keep_running(settings: ProjectionSettings, stop: Event, retry_after_s: float = RETRY_AFTER_S) -> None:
    """Until ``stop``. A process that has ended is started again after a while; what it says goes to standard error."""
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
    """How a process ended, by what ``wait`` says of it."""
    return f"were killed by signal {-status}" if status < 0 else f"ended with status {status}"


@contextmanager
def _process(settings: ProjectionSettings) -> Iterator[subprocess.Popen[bytes]]:
    """Its standard input stays open until the end of the block, or of this process, whatever ends it."""
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
