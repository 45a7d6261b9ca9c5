"""SIGHUP: a running 'run', 'notify', 'collect' or 'web' reads its configuration again.

Alert rules, their sinks, and the level of the log may change. If another key has changed, or anything is wrong, nothing
is taken over, and the process goes on as before. One line in the log says which. Silences need no reload.
"""

import logging
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from types import FrameType

from streaming import systemd
from streaming.config.alerts import Alerts
from streaming.config.config_errors import KeyPath, key_text
from streaming.config.keys import changed_keys
from streaming.config.sections import Config
from streaming.errors import ConfigError, MonitorError
from streaming.log_format import configure_logs

LOG_LEVEL, ALERTS_FILE = ("log", "level"), ("notify", "alerts")
READ_ONCE_BY_PAGES = (("pages", "docs"), ("pages", "time_zone"))
log = logging.getLogger(__name__)


class Reload:
    """Reads the configuration of a command with ``read``, now for the first time, and again when it is called.

    ``take``: puts alert rules in force; raises MonitorError if it cannot. ``read_once``: keys of the alert rules that
    need a restart.
    """

    def __init__(self, read: Callable[[], tuple[Config, Alerts]]) -> None:
        self._read = read
        self.config, self.alerts = read()
        configure_logs(self.config.log)
        self.take: Callable[[Config, Alerts], object] = lambda config, alerts: None
        self.read_once: Collection[KeyPath] = ()

    def __call__(self) -> None:
        systemd.send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            self.reload()
        except MonitorError as error:
            faults = "; ".join(str(error).splitlines())
            log.error("SIGHUP: nothing was taken over, and this process goes on as before: %s", faults)
        except Exception:
            log.exception("SIGHUP: nothing was taken over, and this process goes on as before")
        systemd.send("READY=1")

    def reload(self) -> None:
        """Raises MonitorError for what is refused."""
        config, alerts = self._read()
        changed = changed_keys(self.config, config)
        others = [key for key in changed if key not in (LOG_LEVEL, ALERTS_FILE)]
        changed_rules = changed_keys(self.alerts, alerts)
        others += [key for key in changed_rules if key in self.read_once]
        if others:
            names = _names(others)
            raise ConfigError(f"{names} changed, which takes effect at a restart only. Restart it, or undo the change")
        self.take(config, alerts)  # also if the rules are the same: the file of a secret may have changed
        self.config, self.alerts = config, alerts
        level, root = logging.getLevelNamesMapping()[config.log.level], logging.getLogger()
        root.setLevel(min(level, root.level))  # for this line, which one of both levels shows
        names = _names([*changed, *changed_rules])
        unchanged = "no key has changed; files of secrets that the alert rules name were read again"
        log.info("SIGHUP: %s", f"taken over: {names}" if names else unchanged)
        root.setLevel(level)


def _names(keys: Collection[KeyPath]) -> str:
    return ", ".join(map(key_text, keys))


@contextmanager
def reloaded_by_signal(reload: Callable[[], object]) -> Iterator[None]:
    """While the block lasts, SIGHUP calls ``reload`` in a thread. Only the main thread may call this.

    In a terminal SIGHUP comes when it is closed, and ends the process. With nohup it is ignored.
    """
    if signal.getsignal(signal.SIGHUP) != signal.SIG_DFL or _has_terminal():
        yield
        return
    arrived: SimpleQueue[bool] = SimpleQueue()  # ``put`` is reentrant

    def handle(number: int, frame: FrameType | None) -> None:
        arrived.put(True)

    def obey() -> None:
        while arrived.get():
            reload()

    Thread(target=obey, name="reload", daemon=True).start()
    signal.signal(signal.SIGHUP, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        arrived.put(False)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
