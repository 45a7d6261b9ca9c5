"""A file that one process at a time locks, and which process that is. The kernel unlocks it when the process ends.

The lock is ``flock``. It ends with its process, so it needs no expiry. It works between all processes of one machine
that see the file, and over NFS between machines, if the server keeps locks.
"""

import errno
import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from streaming.private_files import opened
from streaming.wall_clock import now_ms

TRIES, BETWEEN_S = 5, 0.05  # a process that only looks locks it for a moment
COMMAND_LENGTH = 200
MODE = 0o660  # who may write to the folder may read who has the lock
CANNOT_LOCK = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


class Holder(Struct, frozen=True):
    """The process that has the lock. ``command``: its command line; ``since_ts``: epoch ms. Without a host: not
    known.
    """

    host: str = ""
    pid: int = 0
    command: str = ""
    since_ts: int = 0

    def __str__(self) -> str:
        if not self.host:
            return "a process that does not say who it is"
        since = datetime.fromtimestamp(self.since_ts / 1000, UTC)
        return f"process {self.pid} on {self.host} ('{self.command}', since {since:%Y-%m-%d %H:%M:%S} UTC)"


class HeldElsewhere(Exception):
    """Another process, which is the argument, has locked the file."""


class CannotLock(Exception):
    """The file system has no locks."""


def this_process() -> Holder:
    command = " ".join(["evenkeel", *sys.argv[1:]])[:COMMAND_LENGTH]
    return Holder(socket.gethostname(), os.getpid(), command, now_ms())


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Lock the file, which is made if missing. Raises HeldElsewhere, CannotLock, or OSError if it cannot be made."""
    with os.fdopen(_to_hold(path), "r+b", buffering=0) as file:
        for left in reversed(range(TRIES)):
            if _locked(file.fileno(), fcntl.LOCK_EX):
                break
            if not left:
                raise HeldElsewhere(_said(file.readall()))
            time.sleep(BETWEEN_S)
        with suppress(OSError):  # it is locked, though a full disk does not take the name of the process
            file.truncate(0)
            file.write(msgspec.json.encode(this_process()))
        try:
            yield
        finally:
            with suppress(OSError):
                file.truncate(0)  # the file must not name a process that has ended


def _to_hold(path: Path) -> int:
    """A descriptor of the file to lock, also on a read-only disk."""
    try:
        return opened(path, os.O_RDWR | os.O_CREAT, MODE)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return opened(path, os.O_RDONLY)


def holder_of(path: Path) -> Holder | None:
    """The process that has locked the file; None if none has. Raises OSError if it cannot be read."""
    try:
        file = os.fdopen(opened(path, os.O_RDONLY), "rb")
    except (FileNotFoundError, NotADirectoryError):
        return None
    with file:
        if _locked(file.fileno(), fcntl.LOCK_SH):
            return None
        return _said(file.read())


def _locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in CANNOT_LOCK:
            raise CannotLock(os.strerror(error.errno)) from error
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _said(text: bytes) -> Holder:
    try:
        return msgspec.json.decode(text, type=Holder)
    except msgspec.DecodeError:
        return Holder()
