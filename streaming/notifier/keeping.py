"""What the notifier keeps between starts: small JSON files, replaced whole, in a folder that one process uses."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from streaming.errors import SetupError
from streaming.notifier.pages import Page
from streaming.notifier.standing import Standing

log = logging.getLogger(__name__)

Kept = TypeVar("Kept", bound=Struct)


class Position(Struct):
    """Up to where the facts are read, and what stood there."""

    table_id: str | None = None
    version: int | None = None
    standing: Standing = field(default_factory=Standing)


class Cursor(Struct):
    """One sink's: the pages that are open there, each with what it was last told, and when."""

    pages: dict[str, Page] = field(default_factory=dict)


class InUse(SetupError):
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


def save(path: Path, value: Struct) -> None:
    """Whole or not at all, also when the machine fails."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(msgspec.json.encode(value))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


@contextmanager
def folder_of_ones_own(folder: Path) -> Iterator[None]:
    """Raises InUse while another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InUse(f"{folder} (notify.state) is in use: another notifier delivers, in 'run' or 'notify'") from None
        yield
