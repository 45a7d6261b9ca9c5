"""The notifier's state between starts: small JSON files, replaced as a whole, in a folder that one process locks."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import Struct, field

from streaming.errors import InUseError, SetupError
from streaming.file_lock import CannotLock, HeldElsewhere, Holder, held, holder_of
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.pages import Page

log = logging.getLogger(__name__)

LOCK, POSITION = "lock", "position.json"

Stored = TypeVar("Stored", bound=Struct)


class Position(Struct, rename={"open_alerts": "standing"}):
    """Up to which commit the facts are read, and what was open then."""

    table_id: str | None = None
    version: int | None = None
    open_alerts: OpenAlerts = field(default_factory=OpenAlerts)


class SinkState(Struct):
    """The pages that are open at one sink, each with what the sink was last sent, and when."""

    pages: dict[str, Page] = field(default_factory=dict)


class StateInUse(InUseError):
    """Another process has locked the folder."""


def load(path: Path, kind: type[Stored]) -> Stored:
    """What was saved. A file that cannot be read is renamed, logged, and replaced by the default."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return kind()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        path.replace(path.with_suffix(".damaged"))
        log.error("%s cannot be read and is renamed to .damaged; firing alerts are sent again: %s", path, error)
        return kind()


def read_open_alerts(folder: Path) -> OpenAlerts:
    """What the notifier of this folder saved last; nothing where that cannot be read."""
    try:
        return msgspec.json.decode((folder / POSITION).read_bytes(), type=Position).open_alerts
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return OpenAlerts()


def save(path: Path, value: Struct) -> None:
    """Whole or not at all, also when the machine fails."""
    new = path.with_suffix(".new")
    with private_file(new) as file:
        file.write(msgspec.json.encode(value))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def private_file(path: Path, *, append: bool = False) -> BinaryIO:
    """A file to write that only its owner and group may read, as the process's umask allows."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)
    return os.fdopen(os.open(path, flags, 0o660), "ab" if append else "wb")


def private_folder(folder: Path) -> Path:
    """Create the folder if it is not there, closed to all but its owner and group."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o770)
    mode = folder.stat().st_mode
    if mode & 0o007:
        folder.chmod(mode & ~0o007)
    return folder


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Raises InUse while another process has it."""
    private_folder(folder)
    with ExitStack() as stack:
        try:
            stack.enter_context(held(folder / LOCK))
        except HeldElsewhere as other:
            raise StateInUse(
                f"{folder} (notify.state) is in use: another notifier delivers, in 'run' or 'notify': {other}"
            ) from None
        except CannotLock:
            raise SetupError(
                f"{folder} (notify.state): its file system has no locks; name a folder elsewhere"
            ) from None
        yield


def running_notifier(folder: Path) -> Holder | None:
    """The process that delivers from this folder, if any. Raises OSError where that cannot be known."""
    try:
        return holder_of(folder / LOCK)
    except CannotLock:
        return None
