"""The lease of a folder: one process at a time writes to it. It is taken at the start; a second process is refused.

Spark notices a second query on a checkpoint only when both have written the same batch. It then ends the query that
came later to it, which is mostly the first one. It does not notice two checkpoints that write to one table.

On a file system of this machine the lease is a lock of the kernel (``streaming.file_lock``), which ends with its
process. In an object store it is a file that its owner renews (``streaming.lease_file``). An owner that cannot renew it
in time ends before another one can take it. One that has lost it ends when it reads so. Other storages have neither
locks nor conditional writes, such as HDFS: there is no lease, and no standby.
"""

import faulthandler
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import NamedTuple

from streaming.config.config_errors import without_userinfo
from streaming.errors import AwayError, InUseError, MonitorError, SetupError
from streaming.file_lock import CannotLock, HeldElsewhere, held
from streaming.lease_file import (
    END_S,
    HELD_S,
    LAST_RESORT_S,
    NAME,
    NOTICED_S,
    RENEW_EVERY_S,
    RETRY_S,
    StoreLease,
    in_use,
)
from streaming.tables.conditional_file import has_conditions
from streaming.tables.storage import local_path

STANDARD_ERROR = 2  # the descriptor, also where sys.stderr is none
# A full disk may have room later, and a file system that is away may come back. These stay until somebody mends them.
NOT_BY_ITSELF = (PermissionError, FileExistsError, FileNotFoundError, NotADirectoryError)
log = logging.getLogger(__name__)

RequireHeld = Callable[[], None]  # raises InUseError or AwayError unless all leases are still this process's


def always_held() -> None:
    """The check where nothing needs a lease."""


class Leased(NamedTuple):
    """Folders that this machine has locked, and those in object stores: address by key of the configuration."""

    locked: list[Path]
    far: dict[str, str]


@contextmanager
def local_leases(folders: Mapping[str, str], is_standby: bool = False) -> Iterator[Leased]:
    """Lock the folders that this machine can lock. ``folders``: path or address by key of the configuration.

    It needs no Spark, so a second process is refused before it starts one. Raises InUseError,
    AwayError if the disk is full or away, SetupError if the folder cannot be one. ``is_standby``: the process is to
    wait for another one, which needs a lease of each folder; SetupError if there can be none.
    """
    leased = Leased([], {})
    with ExitStack() as stack:
        for key, uri in folders.items():
            path = local_path(uri)
            try:
                if path is None:
                    raise CannotLock
                path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(path / NAME))
                leased.locked.append(path)
            except CannotLock:
                if has_conditions(uri):
                    leased.far[key] = uri
                else:
                    _go_on_without(key, uri, is_standby)
            except HeldElsewhere as other:
                raise in_use(key, uri, str(other)) from None
            except OSError as error:
                kind = SetupError if isinstance(error, NOT_BY_ITSELF) else AwayError
                raise kind(f"{key} = {path}: cannot be held for this process alone: {error.strerror}") from error
        yield leased


def _go_on_without(key: str, uri: str, is_standby: bool) -> None:
    where = f"{key} = {without_userinfo(uri)}: this storage has neither locks nor conditional writes"
    if is_standby:
        raise SetupError(
            f"{where}, so two processes cannot agree who works: put {key} into an object store, or on a disk with "
            "locks, or start one process alone without --standby (docs/configuration.md, One job on its tables)"
        )
    log.warning("%s: nothing refuses a second process that writes to it. See to it that there is none", where)


@contextmanager
def remote_leases(
    folders: Mapping[str, str], stop: Event, on_loss: Callable[[], None] = lambda: None
) -> Iterator[RequireHeld]:
    """Keep leases of folders in object stores. Yield the check to make before each commit.

    When a lease is lost, this calls ``on_loss``, sets ``stop`` and raises InUseError or AwayError at the end of the
    block. If the block lasts longer than ``END_S`` then, the process ends at once: another one may take the lease soon.
    """
    leases = _RemoteLeases([StoreLease(key, uri) for key, uri in folders.items()], stop, on_loss)
    try:
        leases.take()
        yield leases.require_held
    except MonitorError as error:
        if leases.lost:
            raise leases.lost[0] from error
        raise
    finally:
        leases.release()
    if leases.lost:
        raise leases.lost[0]


class _RemoteLeases:
    """The leases of one process. Threads renew each of them, and notice when one is lost.

    The last resort is a timer of faulthandler, because some reads of deltalake keep Python's lock until an object store
    answers, and no thread of Python runs meanwhile. The timer's thread is not Python's. It prints where each thread
    stands, and ends the process with status 1. Java ends then, too. There is one such timer in a process.
    """

    def __init__(self, leases: Sequence[StoreLease], stop: Event, on_loss: Callable[[], None]) -> None:
        self.lost: list[MonitorError] = []  # why; the first one counts
        self._leases, self._stop, self._on_loss = leases, stop, on_loss
        self._taken: list[StoreLease] = []
        self._threads: list[Thread] = []
        self._over, self._is_lost = Event(), Event()
        self._timer = Lock()

    def take(self) -> None:
        """Take them all, or as many as can be taken before ``stop`` is set."""
        self._start(self._end_in_time)
        for lease in self._leases:
            lease.look()  # those of one owner expire at the same time, and not one after the other
        for lease in self._leases:
            if not lease.take(self._stop):
                return
            self._taken.append(lease)
            self._set_timer()
            self._start(partial(self._keep, lease))
            self._start(partial(self._watch, lease))

    def require_held(self) -> None:
        try:
            for lease in self._taken:
                lease.require_held()
        except (AwayError, InUseError) as error:
            self._lose(error)
            raise

    def release(self) -> None:
        """Nothing is committed any more, so nothing must end in time: a store that hangs only delays the end."""
        self._over.set()
        self._is_lost.set()
        with self._timer:
            faulthandler.cancel_dump_traceback_later()
        for thread in self._threads:
            thread.join(RENEW_EVERY_S)
        for lease in self._taken:
            if time.monotonic() < lease.until:  # one that was lost expires by itself
                lease.release()

    def _start(self, work: Callable[[], None]) -> None:
        thread = Thread(target=work, name="leases", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _keep(self, lease: StoreLease) -> None:
        wait_s = RENEW_EVERY_S
        while not self._over.wait(wait_s):
            try:
                lease.renew()
                self._set_timer()
                wait_s = RENEW_EVERY_S
            except InUseError as error:
                return self._lose(error)
            except Exception as error:  # a storage that is away for a moment
                log.warning("%s: the lease could not be renewed: %s", lease.key, str(error).split("\n", 1)[0])
                wait_s = RETRY_S

    def _watch(self, lease: StoreLease) -> None:
        """Notice that the lease was not renewed in time, in a thread of its own: a write may hang."""
        while not self._over.wait(min(NOTICED_S, HELD_S / 10)):
            try:
                lease.require_renewed()
            except AwayError as error:
                return self._lose(error)

    def _set_timer(self) -> None:
        """Let the process end when it must, unless one of its leases is renewed before."""
        with self._timer:
            if not self.lost and not self._over.is_set():
                until = min(lease.until for lease in self._taken)
                ends_at = until + NOTICED_S + END_S + LAST_RESORT_S
                left_s = max(ends_at - time.monotonic(), 0.001)  # it takes no 0
                faulthandler.dump_traceback_later(left_s, exit=True, file=STANDARD_ERROR)

    def _lose(self, error: MonitorError) -> None:
        with self._timer:
            self.lost.append(error)
        self._on_loss()
        self._stop.set()
        self._is_lost.set()

    def _end_in_time(self) -> None:
        self._is_lost.wait()
        if self.lost and not self._over.wait(END_S):
            log.error("%s", self.lost[0])
            os._exit(4 if isinstance(self.lost[0], InUseError) else 3)  # as docs/exit-status.md says; Java ends, too
