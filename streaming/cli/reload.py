"""Have a running 'run', 'notify', 'collect' or 'web' read its configuration again, as SIGHUP does.

Alert rules, their sinks, and the level of the log may change. If another key has changed, or anything is wrong, nothing
is changed, and the process goes on as before. Silences need no reload.
"""

import argparse
import logging
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import FrameType

from streaming import systemd
from streaming.cli.exit_status import DONE
from streaming.config.alerts import Alerts
from streaming.config.config_errors import KeyPath, key_text
from streaming.config.keys import changed_keys
from streaming.config.sections import Config
from streaming.errors import AwayError, ConfigError, InUseError, MonitorError, SetupError
from streaming.log_format import configure_logs
from streaming.secret_mask import masked

ANSWER_WITHIN_S = 60.0
LONGEST_ANSWER = 60_000
LOG_LEVEL, ALERTS_FILE = ("log", "level"), ("notify", "alerts")
READ_ONCE_BY_PAGES = (("pages", "docs"), ("pages", "time_zone"))
CREDENTIALS = struct.Struct("3i")  # of SCM_CREDENTIALS: a process, its user and group
log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("process", type=int, metavar="PID", help="of the process")


def run(arguments: argparse.Namespace) -> int:
    """0 if the process has taken the configuration. Raises MonitorError if it refuses it, or does not answer."""
    process = arguments.process
    _require_handler(process)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as answers:
        answers.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            answers.bind(address_of(process))
        except OSError as error:
            raise InUseError(f"another 'evenkeel reload {process}' waits for its answer") from error
        try:
            os.kill(process, signal.SIGHUP)
        except OSError as error:
            raise SetupError(f"process {process} gets no signal from here: {error.strerror}") from error
        refusal = answer_of(process, answers)
    if refusal:
        raise SetupError(f"process {process} goes on as before: {refusal}")
    return DONE


def _require_handler(process: int) -> None:
    """The signal would end a process that does not handle it.

    In the sandbox of a service (``ProtectProc=invisible``) /proc does not show the service itself. There its unit names
    the process.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text("utf-8", "replace")
    except OSError:
        return
    caught = int(status.partition("\nSigCgt:")[2].split()[0], 16)
    if not caught >> (signal.SIGHUP - 1) & 1:
        raise SetupError(
            f"process {process} takes no reload: it is none of run, notify, collect and web, has a terminal, or has "
            "only begun to start"
        )


def answer_of(process: int, answers: socket.socket) -> str:
    """Its answer: empty if it has taken the configuration. What another process sends does not count."""
    deadline = time.monotonic() + ANSWER_WITHIN_S
    while (left_s := deadline - time.monotonic()) > 0:
        answers.settimeout(left_s)
        with suppress(TimeoutError):
            text, ancillary, _, _ = answers.recvmsg(LONGEST_ANSWER, socket.CMSG_SPACE(CREDENTIALS.size))
            senders = [CREDENTIALS.unpack(data)[0] for _, kind, data in ancillary if kind == socket.SCM_CREDENTIALS]
            if senders == [process]:
                return text.decode("utf-8", "replace")
    raise AwayError(f"process {process} has not answered for {ANSWER_WITHIN_S:.0f} s: its log says what it does")


def address_of(process: int) -> str:
    return f"\0evenkeel-reload-{process}"


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
        refusal = ""
        try:
            self.reload()
            log.info("SIGHUP: the configuration was read again")
        except MonitorError as error:
            refusal = masked(str(error))
            log.error("SIGHUP: the configuration is refused, and nothing was changed: %s", refusal)
        except Exception as error:
            refusal = masked(f"{type(error).__name__}: {error}")
            log.exception("SIGHUP: the configuration was not read again")
        systemd.send("READY=1")
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.settimeout(1)
            sending.sendto(refusal.encode()[:LONGEST_ANSWER], address_of(os.getpid()))  # nobody may wait for it

    def reload(self) -> None:
        config, alerts = self._read()
        others = [key for key in changed_keys(self.config, config) if key not in (LOG_LEVEL, ALERTS_FILE)]
        others += [key for key in changed_keys(self.alerts, alerts) if key in self.read_once]
        if others:
            names = ", ".join(map(key_text, others))
            raise ConfigError(f"{names} changed, which takes effect at a restart only. Restart it, or undo the change")
        self.take(config, alerts)  # also if the rules are the same: the file of a secret may have changed
        logging.getLogger().setLevel(config.log.level)
        self.config, self.alerts = config, alerts


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
