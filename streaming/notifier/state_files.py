"""The notifier's state files: small JSON files, replaced as a whole, in a folder that one process locks."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from streaming import private_files
from streaming.errors import InUseError, SetupError
from streaming.file_lock import CannotLock, HeldElsewhere, Holder, held, holder_of
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.pages import Page
from streaming.secret_mask import masked

log = logging.getLogger(__name__)

LOCK, POSITION, SINKS = "lock", "position.json", "sinks"
COPY, DAMAGED = ".copy", ".damaged"

# Add one if an older evenkeel would send pages again, or lose some, with what this one writes. Fields that are added
# need no new form: an older evenkeel leaves them out.
FORM = 1

Stored = TypeVar("Stored", bound=Struct)
UNREADABLE = (OSError, msgspec.DecodeError, UnicodeDecodeError)


class Position(Struct, rename={"open_alerts": "standing"}):
    """The last commit of facts that was read, and the alerts that were open then. ``form``: of all files."""

    table_id: str | None = None
    version: int | None = None
    open_alerts: OpenAlerts = field(default_factory=OpenAlerts)
    form: int = FORM


class SinkState(Struct):
    """The open pages of one sink, each with the content and time of the last notice."""

    pages: dict[str, Page] = field(default_factory=dict)


class StateInUse(InUseError):
    """Another process has locked the folder."""


def load(path: Path, kind: type[Stored]) -> Stored:
    """The saved value. A file that cannot be read is renamed and logged, and its copy is used, else the default.

    A missing file is the default: a person has deleted it, or nothing was saved yet.
    """
    try:
        return _read(path, kind)
    except FileNotFoundError:
        return kind()
    except UNREADABLE as error:
        with suppress(OSError):
            path.replace(path.with_suffix(DAMAGED))
        said = f"{path} cannot be read and is renamed to {DAMAGED}"
        try:
            copy = _read(path.with_suffix(COPY), kind)
        except UNREADABLE:
            log.error("%s; firing alerts are sent again: %s", said, error)
            return kind()
        log.error("%s; its copy is used: %s", said, error)
        return copy


def _read(path: Path, kind: type[Stored]) -> Stored:
    """Raises one of UNREADABLE."""
    return msgspec.json.decode(private_files.read(path), type=kind)


class _Form(Struct):
    form: int = 0  # evenkeel 0.1.0 wrote none


def require_known_form(folder: Path) -> None:
    """Raises SetupError if evenkeel 0.1.0 has written the state, or a newer evenkeel in a form that this one does not
    know.
    """
    try:
        form = _read(folder / POSITION, _Form).form
    except UNREADABLE:
        return
    if form == 0:
        raise SetupError(
            f"{folder} (notify.state) is of evenkeel 0.1.0: upgrade with 0.2.0 first, or name another folder; with "
            "that, what fires is sent again"
        )
    if form > FORM:
        raise SetupError(
            f"{folder} (notify.state) is of form {form}, and this evenkeel knows form {FORM}: start the newer evenkeel "
            "again, or name another folder; with that, what fires is sent again"
        )


def damaged_files(folder: Path) -> list[Path]:
    """The state files that ``load`` would rename. They are only read."""
    kinds: dict[Path, type[Struct]] = {folder / POSITION: Position}
    kinds |= dict.fromkeys((folder / SINKS).glob("*.json"), SinkState)
    return [path for path, kind in kinds.items() if _is_damaged(path, kind)]


def _is_damaged(path: Path, kind: type[Struct]) -> bool:
    try:
        _read(path, kind)
    except FileNotFoundError:
        return False
    except UNREADABLE:
        return True
    return False


def read_open_alerts(folder: Path) -> OpenAlerts:
    """The open alerts that the notifier of this folder saved last; empty if they cannot be read."""
    try:
        return _read(folder / POSITION, Position).open_alerts
    except UNREADABLE:
        return OpenAlerts()


def save(path: Path, value: Struct, mode: int = private_files.FILE_MODE) -> None:
    """Save completely or not at all, also when the machine fails. Raises OSError."""
    private_files.replace(path, masked(msgspec.json.encode(value).decode()).encode(), mode)


def save_twice(path: Path, value: Struct) -> None:
    """Save, and then a copy beside it, for a disk that damages one of them. Raises OSError."""
    save(path, value)
    save(path.with_suffix(COPY), value)


class FolderLock:
    """The lock against a second notifier. If a full disk prevents it, pages are sent without the lock."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._is_held = self._is_logged = False

    def take(self) -> None:
        """Take the lock unless it is taken. Raises StateInUse if another process has it, SetupError if none can."""
        if self._is_held:
            return
        try:
            private_files.make_folder(self._folder)
            self._stack.enter_context(held(self._folder / LOCK))
        except HeldElsewhere as other:
            raise StateInUse(
                f"{self._folder} (notify.state) is in use: another notifier delivers, in 'run' or 'notify': {other}",
                owner=str(other),
            ) from None
        except CannotLock:
            raise SetupError(
                f"{self._folder} (notify.state): its file system has no locks; name a folder elsewhere"
            ) from None
        except OSError as error:
            self._log(error)
        else:
            self._is_held = True

    def _log(self, error: OSError) -> None:
        if not self._is_logged:
            log.error(
                "%s (notify.state) cannot be locked: %s; pages are sent, but a second notifier would send them too",
                self._folder,
                error,
            )
        self._is_logged = True


@contextmanager
def locked_folder(folder: Path) -> Iterator[FolderLock]:
    """Lock the folder. ``take`` again if a full disk prevented it. Raises StateInUse if another process has it."""
    with ExitStack() as stack:
        lock = FolderLock(folder, stack)
        lock.take()
        yield lock


def running_notifier(folder: Path) -> Holder | None:
    """The process that delivers from this folder, if any. Raises OSError if that cannot be known."""
    try:
        return holder_of(folder / LOCK)
    except CannotLock:
        return None
