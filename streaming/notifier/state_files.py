"""What the notifier keeps between starts: small JSON files, replaced whole, in a folder that one process uses."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import Struct, field

from streaming.errors import InUseError, SetupError
from streaming.holding import CannotLock, HeldElsewhere, Holder, held, holder_of
from streaming.notifier.open_alerts import Standing
from streaming.notifier.pages import Page

log = logging.getLogger(__name__)

LOCK, POSITION = "lock", "position.json"

Kept = TypeVar("Kept", bound=Struct)


class Position(Struct):
    """Up to where the facts are read, and what stood there."""

    table_id: str | None = None
    version: int | None = None
    standing: Standing = field(default_factory=Standing)


class Cursor(Struct):
    """One sink's: the pages that are open there, each with what it was last told, and when."""

    pages: dict[str, Page] = field(default_factory=dict)


class InUse(InUseError):
    """Another process has the folder."""


def load(path: Path, kind: type[Kept]) -> Kept:
    """What was saved; anew, and said so, where it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return kind()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        path.replace(path.with_suffix(".damaged"))
        log.error("%s cannot be read and is put aside; what still fires is told again: %s", path, error)
        return kind()


def standing_in(folder: Path) -> Standing:
    """What the notifier of this folder kept last, for others to look at; nothing where that cannot be read."""
    try:
        return msgspec.json.decode((folder / POSITION).read_bytes(), type=Position).standing
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return Standing()


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
    """The folder, made if it is not there, that others than its owner and group cannot look into."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o770)
    mode = folder.stat().st_mode
    if mode & 0o007:
        folder.chmod(mode & ~0o007)
    return folder


@contextmanager
def folder_of_ones_own(folder: Path) -> Iterator[None]:
    """Raises InUse while another process has it."""
    private_folder(folder)
    with ExitStack() as stack:
        try:
            stack.enter_context(held(folder / LOCK))
        except HeldElsewhere as other:
            raise InUse(
                f"{folder} (notify.state) is in use: another notifier delivers, in 'run' or 'notify': {other}"
            ) from None
        except CannotLock:
            raise SetupError(
                f"{folder} (notify.state): its file system has no locks; name a folder elsewhere"
            ) from None
        yield


def notifier_of(folder: Path) -> Holder | None:
    """The process that delivers from this folder; None while none does. Raises OSError where it cannot be known."""
    try:
        return holder_of(folder / LOCK)
    except CannotLock:
        return None
