"""The process that writes the projections, at low priority, and its supervisor in the job's process.

The first line of its standard input has its settings, as JSON; each further line is the level of the log from then on.
It ends when that input ends, together with its parent. It ignores signals, which its parent handles: Ctrl-C and service
managers send them to both. The interval of the projections stands in the table ``[job]`` of ``config/sections``.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread

import msgspec
from deltalake import DeltaTable
from msgspec import Struct

import streaming
from schemas.tables import FACTS
from streaming.config.secrets import secrets_in_environment
from streaming.config.sections import Config, Log
from streaming.errors import MonitorError
from streaming.freed_memory import keep_giving_back
from streaming.log_format import configure_logs
from streaming.projections.locks import writing_alone
from streaming.projections.maintain import maintain_regularly
from streaming.projections.new_facts import ROWS_A_BATCH
from streaming.projections.projector import open_projector
from streaming.secret_mask import hide, passwords_in
from streaming.tables.maintenance import MaintainOptions, maintain_options
from streaming.tables.storage import delta_uri, local_path

log = logging.getLogger(__name__)

NICENESS = 10
LAST_FACTS_WITHIN_S = 8.0
PR_SET_PDEATHSIG = 1  # linux/prctl.h
DONE, FAILED = 0, 1
RETRY_AFTER_S = 30.0
END_WITHIN_S = 10.0
POLL_S = 0.2
# The folder of this evenkeel replaces the working directory in sys.path, which may contain another evenkeel.
_ROOT = str(Path(streaming.__file__).parents[1])
_PROGRAM = f"import sys; sys.path[0] = {_ROOT!r}; from streaming.projections.process import main; main()"
COMMAND = (sys.executable, "-c", _PROGRAM)


class ProjectionSettings(Struct, frozen=True, kw_only=True):
    """The settings. ``seconds``: from one batch to the next. ``maintenance``: None: no maintenance."""

    tables: str
    seconds: float
    maintenance: MaintainOptions | None = None
    log_format: str


def projection_settings(config: Config) -> ProjectionSettings:
    return ProjectionSettings(
        tables=config.tables.path,
        seconds=config.job.projection_seconds,
        maintenance=maintain_options(config) if config.job.maintenance else None,
        log_format=config.log.format,
    )


def keep_running(
    settings: ProjectionSettings,
    stop: Event,
    is_lost: Callable[[], bool] = lambda: False,
    retry_after_s: float = RETRY_AFTER_S,
) -> None:
    """Keep it running until ``stop``. If it ends, it starts again after a pause. It writes to our standard error, and
    its log has the level of ours, which a reload may change.

    Once ``is_lost``, another process may write the tables soon: it is killed, and does not start again.
    """
    while not stop.is_set():
        try:
            with _process(settings) as process:
                level = None
                while process.poll() is None and not is_lost() and not stop.wait(POLL_S):
                    if level != (level := logging.getLogger().level):
                        _give(process, str(level).encode())
                if is_lost():
                    process.kill()
                    return
                if not stop.is_set():
                    status = process.returncode
                    end = f"were killed by signal {-status}" if status < 0 else f"ended with status {status}"
                    log.error("the projections %s; begun again in %g s", end, retry_after_s)
        except OSError as error:
            log.error("the projections cannot be started: %s; tried again in %g s", error, retry_after_s)
        stop.wait(retry_after_s)


@contextmanager
def _process(settings: ProjectionSettings) -> Iterator[subprocess.Popen[bytes]]:
    """The process. Its standard input stays open until the block ends, or this process ends for any reason."""
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE)
    assert process.stdin is not None
    try:
        _give(process, msgspec.json.encode(settings))
        yield process
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _give(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(line + b"\n")
        process.stdin.flush()


def main() -> None:
    """Run the process. The exit status is 0 once standard input has ended, 1 after an error, which is logged."""
    os.nice(NICENESS)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=ProjectionSettings)
    if local_path(settings.tables) is None:
        _be_killed_with_parent()
    hide([*passwords_in(settings.tables), *secrets_in_environment(os.environ)])
    configure_logs(Log(format=settings.log_format))  # type: ignore[arg-type]
    _take_level(sys.stdin.buffer.readline())
    keep_giving_back()
    stop = Event()
    Thread(target=_end_with_parent, args=(stop,), name="parent", daemon=True).start()
    status = _status_of(settings, stop)
    logging.shutdown()
    os._exit(status)  # without waiting for the threads of deltalake and of maintenance


def _be_killed_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies.

    The parent has the lease of tables that this machine cannot lock, and the next process may take it soon. A thread
    would notice the end too late: reads of an object store that does not answer stop all threads of Python.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # Linux has it
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _status_of(settings: ProjectionSettings, stop: Event) -> int:
    try:
        keep_projecting(settings, stop)
    except MonitorError as error:
        log.error("%s", error)
        return FAILED
    except Exception:
        log.exception("the projections failed")
        return FAILED
    return DONE


def keep_projecting(settings: ProjectionSettings, stop: Event) -> None:
    """Update the tables every ``seconds``, and once more after ``stop``. Maintain them in parallel.

    Only a full batch is followed by the next at once. Others wait, also if there are new facts: each batch adds a
    commit and a file to every table, however few facts it has.
    """
    with writing_alone(settings.tables):
        while not DeltaTable.is_deltatable(delta_uri(f"{settings.tables}/{FACTS.name}")):
            if stop.wait(settings.seconds):
                return
        projector = open_projector(settings.tables)
        if settings.maintenance is not None:
            work = partial(maintain_regularly, settings.tables, settings.maintenance, stop=stop)
            Thread(target=work, name="maintenance", daemon=True).start()
        while not stop.is_set():
            began = time.monotonic()
            while not stop.is_set() and (projector.next_batch() or 0) >= ROWS_A_BATCH:
                pass
            stop.wait(max(0.0, began + settings.seconds - time.monotonic()))
        while projector.next_batch() is not None:  # the last facts are committed before the parent ends
            pass


def _take_level(line: bytes) -> None:
    """Take the level of the parent's log, which a reload may have changed. Empty: the parent has ended already."""
    if line:
        logging.getLogger().setLevel(int(line))


def _end_with_parent(stop: Event) -> None:
    """Take the levels of the parent's log until it ends, then end too.

    Work that is not done in time is interrupted, and repeated by the next process.
    """
    for line in sys.stdin.buffer:
        _take_level(line)
    stop.set()
    time.sleep(LAST_FACTS_WITHIN_S)
    log.warning(
        "the tables lack the newest facts: %g s were not enough to write them. The next start writes them; if none "
        "follows, 'evenkeel rebuild' does",
        LAST_FACTS_WITHIN_S,
    )
    os._exit(DONE)
