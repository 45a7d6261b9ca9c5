"""The lease of a folder: one process at a time writes to it. It is taken at the start; a second process is refused.

Spark notices a second query on a checkpoint only when both have written the same batch. It then ends the query that
came later to it, which is mostly the first one. It does not notice two checkpoints that write to one table.

On a file system of this machine the lease is a lock of the kernel (``streaming.file_lock``), which ends with its
process. Elsewhere it is a file that its owner renews (``streaming.lease_file``). An owner that cannot renew it in time
ends before another one can take it. One that has lost it ends when it reads so.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

from streaming.errors import AwayError, InUseError, MonitorError, SetupError
from streaming.file_lock import CannotLock, HeldElsewhere, held
from streaming.lease_file import (
    END_S,
    HELD_S,
    NAME,
    RENEW_EVERY_S,
    RETRY_S,
    OpenFolder,
    RemoteLease,
    in_use,
    remote_lease,
)
from streaming.tables.storage import local_path

log = logging.getLogger(__name__)

RequireHeld = Callable[[], None]  # raises InUseError or AwayError unless all leases are still this process's


def always_held() -> None:
    """The check where nothing needs a lease."""


@contextmanager
def local_leases(folders: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Lock the folders that this machine can lock, and yield the others. By key of the configuration: path or address.

    It needs no Spark, so a second process is refused before it starts one. Raises InUseError.
    """
    far: dict[str, str] = {}
    with ExitStack() as stack:
        for key, uri in folders.items():
            path = local_path(uri)
            try:
                if path is None:
                    raise CannotLock
                path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(path / NAME))
            except CannotLock:
                far[key] = uri
            except HeldElsewhere as other:
                raise in_use(key, uri, str(other)) from None
            except OSError as error:
                raise SetupError(f"{key} = {path}: cannot be held for this process alone: {error.strerror}") from error
        yield far


@contextmanager
def remote_leases(
    open_folder: OpenFolder, folders: Mapping[str, str], stop: Event, on_loss: Callable[[], None] = lambda: None
) -> Iterator[RequireHeld]:
    """Keep leases of folders that no machine can lock. Yield the check to make before each commit.

    When a lease is lost, this calls ``on_loss``, sets ``stop`` and raises InUseError or AwayError at the end of the
    block. If the block lasts longer than ``END_S`` then, the process ends at once: another one may take the lease soon.
    """
    taken: list[RemoteLease] = []
    lost: list[MonitorError] = []
    over, is_lost = Event(), Event()

    def lose(error: MonitorError) -> None:
        lost.append(error)
        on_loss()
        stop.set()
        is_lost.set()

    def end_in_time() -> None:
        is_lost.wait()
        if lost and not over.wait(END_S):
            log.error("%s", lost[0])
            os._exit(4 if isinstance(lost[0], InUseError) else 3)  # as docs/exit-status.md says; Java ends, too

    def require_held() -> None:
        try:
            for lease in taken:
                lease.require_held()
        except (AwayError, InUseError) as error:
            lose(error)
            raise

    threads = [Thread(target=end_in_time, name="lost-leases", daemon=True)]
    threads[0].start()
    try:
        leases = [remote_lease(open_folder, key, uri) for key, uri in folders.items()]
        for lease in leases:
            lease.look()  # those of one owner expire at the same time, and not one after the other
        for lease in leases:
            if not lease.take(stop):
                break
            taken.append(lease)
            threads += [Thread(target=work, args=(lease, over, lose), daemon=True) for work in (_keep, _watch)]
            for thread in threads[-2:]:
                thread.start()
        yield require_held
    except MonitorError as error:
        if lost:
            raise lost[0] from error
        raise
    finally:
        over.set()
        is_lost.set()
        for thread in threads:
            thread.join(RENEW_EVERY_S)
        for lease in taken:
            lease.release()
    if lost:
        raise lost[0]


def _keep(lease: RemoteLease, over: Event, lose: Callable[[MonitorError], None]) -> None:
    wait_s = RENEW_EVERY_S
    while not over.wait(wait_s):
        try:
            lease.renew()
            wait_s = RENEW_EVERY_S
        except InUseError as error:
            lose(error)
            return
        except Exception as error:  # a storage that is away for a moment
            log.warning("%s: the lease could not be renewed: %s", lease.key, str(error).split("\n", 1)[0])
            wait_s = RETRY_S


def _watch(lease: RemoteLease, over: Event, lose: Callable[[MonitorError], None]) -> None:
    """Notice that the lease was not renewed in time, in a thread of its own: a write may hang.

    It is late if deltalake reads from an object store that does not answer: some of its reads stop all threads.
    """
    while not over.wait(min(1.0, HELD_S / 10)):
        try:
            lease.require_renewed()
        except AwayError as error:
            lose(error)
            return
