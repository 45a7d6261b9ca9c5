"""The lease of a folder: one process at a time writes to it. It is taken at the start; a second process is refused.

Spark notices a second query on a checkpoint only when both have written the same batch. It then ends the query that
came later to it, which is mostly the first one. It does not notice two checkpoints that write to one table.

On a file system of this machine the lease is a lock of the kernel (``streaming.file_lock``), which ends with its
process. Object stores and HDFS have no locks. There the lease is a file that its owner writes again every
``RENEW_EVERY_S``. A process that finds such a file watches it: if it has not changed for ``EXPIRES_S``, its owner is
gone. So no clocks of two machines are compared. The owner reads the file before each write. If the file belongs to
another process by then (which took it while this one was paused, or started in the same moment), this process ends.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import Protocol
from uuid import uuid4

import msgspec
from msgspec import Struct

from streaming.config.config_errors import without_userinfo
from streaming.errors import InUseError, MonitorError, SetupError
from streaming.file_lock import CannotLock, HeldElsewhere, Holder, held, this_process
from streaming.tables.storage import local_path

log = logging.getLogger(__name__)

NAME = "_lease"  # Hadoop takes a file whose name begins so for no data
RENEW_EVERY_S = 10.0
EXPIRES_S = 40.0  # two writes may fail
CHECK_AFTER_S = 3.0  # if two write at the same time, the later one counts


class TextFolder(Protocol):
    """A folder that no machine can lock. Its methods raise AwayError while its storage does not answer."""

    def read(self, name: str) -> str | None: ...

    def write(self, name: str, text: str) -> None: ...

    def delete(self, name: str) -> None: ...


OpenFolder = Callable[[str], TextFolder]


class Lease(Struct, frozen=True):
    """The file's content. ``beat`` makes each one differ from the one before."""

    id: str
    beat: int
    holder: Holder


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
                raise _in_use(key, uri, str(other)) from None
            except OSError as error:
                raise SetupError(f"{key} = {path}: cannot be held for this process alone: {error.strerror}") from error
        yield far


@contextmanager
def remote_leases(open_folder: OpenFolder, folders: Mapping[str, str], stop: Event) -> Iterator[None]:
    """Keep leases of folders that no machine can lock. When one is lost, this sets ``stop`` and raises InUseError."""
    lost: list[InUseError] = []
    taken: list[_RemoteLease] = []
    over = Event()

    def keep() -> None:
        while not over.wait(RENEW_EVERY_S):
            for lease in taken:
                try:
                    lease.beat()
                except InUseError as error:
                    lost.append(error)
                    stop.set()
                    return
                except Exception as error:  # a storage that is away for a moment
                    log.warning("%s: the lease could not be renewed: %s", lease.key, str(error).split("\n", 1)[0])

    thread = Thread(target=keep, name="leases", daemon=True)
    try:
        for key, uri in folders.items():
            lease = _RemoteLease(open_folder, key, uri)
            lease.take(stop)
            taken.append(lease)
        if taken:
            thread.start()
        yield
    except MonitorError as error:
        if lost:
            raise lost[0] from error
        raise
    finally:
        over.set()
        if thread.is_alive():
            thread.join(RENEW_EVERY_S)
        for lease in taken:
            lease.release()
    if lost:
        raise lost[0]


class _RemoteLease:
    """A lease as a file with a heartbeat."""

    def __init__(self, open_folder: OpenFolder, key: str, uri: str) -> None:
        self.key = key
        self._uri = uri
        self._folder = open_folder(uri)
        self._mine = Lease(str(uuid4()), 0, this_process())

    def take(self, stop: Event) -> None:
        """Take the lease. Raises InUseError while another process renews it."""
        found = self._folder.read(NAME)
        if found is not None:
            log.info(
                "%s: %s held it; is that process still there? Known within %.0f s",
                self.key,
                who(found),
                EXPIRES_S,
            )
            self._watch(found, stop)
        self._write()
        if not stop.wait(CHECK_AFTER_S):
            self._require_mine()

    def beat(self) -> None:
        self._require_mine()
        self._write()

    def release(self) -> None:
        """Release the lease. If Java has ended already, the next process waits until the lease has expired."""
        try:
            self._require_mine()
            self._folder.delete(NAME)
        except Exception as error:
            log.debug("%s: the lease stays behind: %s", self.key, error)

    def _watch(self, found: str, stop: Event) -> None:
        for _ in range(round(EXPIRES_S)):
            if stop.wait(1):
                return
            now = self._folder.read(NAME)
            if now is None:
                return
            if now != found:
                raise _in_use(self.key, self._uri, who(now))

    def _require_mine(self) -> None:
        found = self._folder.read(NAME)
        if found is not None and _read(found).id != self._mine.id:
            raise _in_use(self.key, self._uri, who(found))

    def _write(self) -> None:
        self._mine = msgspec.structs.replace(self._mine, beat=self._mine.beat + 1)
        self._folder.write(NAME, msgspec.json.encode(self._mine).decode())


def who(text: str) -> str:
    """The owner of the lease, as far as the file names it."""
    return str(_read(text).holder)


def _read(text: str) -> Lease:
    try:
        return msgspec.json.decode(text, type=Lease)
    except msgspec.MsgspecError:
        return Lease("", 0, Holder())


def _in_use(key: str, uri: str, other: str) -> InUseError:
    return InUseError(
        f"{key} = {without_userinfo(uri)} is in use by {other}. Two at once would end each other and write everything "
        "twice: stop that one first, or name folders of its own for this one",
        owner=other,
    )
