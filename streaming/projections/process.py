"""The process that writes the projections, at low priority, until its standard input ends together with its parent.

The first line there has its settings. It ignores signals, which its parent handles: Ctrl-C and service managers send
them to both.
"""

import logging
import os
import signal
import sys
import time
from threading import Event, Thread

from deltalake import DeltaTable

from schemas.tables import FACTS
from streaming.config import Log
from streaming.config.secrets import secrets_in_environment
from streaming.errors import MonitorError
from streaming.log_format import configure_logs
from streaming.projections.locks import writing_alone
from streaming.projections.maintain import maintain_regularly
from streaming.projections.projector import open_projector
from streaming.projections.settings import ProjectionSettings, decoded
from streaming.secret_mask import hide, passwords_in
from streaming.tables.maintenance import MaintainOptions
from streaming.tables.storage import delta_uri

log = logging.getLogger(__name__)

NICENESS = 10
LAST_FACTS_WITHIN_S = 8.0
DONE, FAILED = 0, 1


def main() -> None:
    """Run the process. The exit status is 0 once standard input has ended, 1 after an error, which is logged."""
    os.nice(NICENESS)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    settings = decoded(sys.stdin.buffer.readline())
    hide([*passwords_in(settings.tables), *secrets_in_environment(os.environ)])
    configure_logs(Log(level=settings.log_level, format=settings.log_format))  # type: ignore[arg-type]
    stop = Event()
    Thread(target=_end_with_parent, args=(stop,), name="parent", daemon=True).start()
    status = _status_of(settings, stop)
    logging.shutdown()
    os._exit(status)  # without waiting for the threads of deltalake and of maintenance


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
    """Update the tables every ``seconds``, and once more after ``stop``. Maintain them in parallel."""
    with writing_alone(settings.tables):
        while not DeltaTable.is_deltatable(delta_uri(f"{settings.tables}/{FACTS.name}")):
            if stop.wait(settings.seconds):
                return
        projector = open_projector(settings.tables)
        _start_maintenance(settings, stop)
        while not stop.is_set():
            began = time.monotonic()
            while not stop.is_set() and projector.next_batch() is not None:
                pass
            stop.wait(max(0.0, began + settings.seconds - time.monotonic()))
        while projector.next_batch() is not None:  # the last facts are committed before the parent ends
            pass


def _start_maintenance(settings: ProjectionSettings, stop: Event) -> None:
    if settings.keep_days is not None:
        options = MaintainOptions(keep_days=settings.keep_days)
        keep = {"stop": stop}
        Thread(
            target=maintain_regularly, args=(settings.tables, options), kwargs=keep, name="maintenance", daemon=True
        ).start()


def _end_with_parent(stop: Event) -> None:
    """End with the parent. Work that is not done in time is interrupted, and repeated by the next process."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    stop.set()
    time.sleep(LAST_FACTS_WITHIN_S)
    log.warning(
        "the tables lack the newest facts: %g s were not enough to write them. The next start writes them; if none "
        "follows, 'evenkeel rebuild' does",
        LAST_FACTS_WITHIN_S,
    )
    os._exit(DONE)
