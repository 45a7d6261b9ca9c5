"""Silences as files, one file for each, in a folder that the notifier reads in every round."""

import logging
import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec.structs import replace

from streaming import private_files
from streaming.errors import SetupError
from streaming.notifier.silences import Silence
from streaming.notifier.state_files import save

log = logging.getLogger(__name__)

FOLDER = "silences"
GROUP, GROUP_OF_FILES = 0o070, 0o060
KEEP_MS = 30 * 86_400_000  # ended silences are kept to show who silenced what


class SilenceFiles:
    """The folder of silences. A file that cannot be read is logged once, and silences nothing."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER
        self._read_before: dict[str, tuple[int, Silence | None]] = {}
        self.failure: str | None = None

    def all(self) -> list[Silence]:
        """All silences, also ended ones, oldest first. ``failure`` is set if the folder as a whole cannot be read."""
        known, failure = {}, None
        try:
            for path in private_files.listed(self._folder, ".json"):
                try:
                    changed = path.lstat().st_mtime_ns
                except FileNotFoundError:
                    continue
                before = self._read_before.get(path.name)
                known[path.name] = before if before is not None and before[0] == changed else (changed, _read(path))
        except OSError as error:
            if _is_there(self._folder):
                failure = f"{self._folder}: its silences cannot be read: {error.strerror or error}"
                if failure != self.failure:
                    log.error("%s; none of them counts", failure)
        self._read_before, self.failure = known, failure
        return sorted((one for _, one in known.values() if one is not None), key=lambda one: (one.from_ts, one.id))

    def add(self, silence: Silence) -> None:
        """Add a silence, or raise SetupError and add none: it cannot be written, or the folder's owner cannot
        read it.
        """
        try:
            self._add(silence)
        except OSError as error:
            raise SetupError(
                f"{self._folder}: the silence cannot be written there: {error.strerror or error}; write it as the user "
                "that the notifier runs as"
            ) from error

    def _add(self, silence: Silence) -> None:
        """Write the file. If the folder's owner has opened it to a group, the group may read and write the file."""
        state = self._folder.parent
        private_files.make_folder(state)
        shared = state.stat().st_mode & GROUP
        private_files.make_folder(self._folder, private_files.FOLDER_MODE | shared)
        path = self._folder / f"{silence.id}.json"
        save(path, silence, private_files.FILE_MODE | shared & GROUP_OF_FILES)
        for made in (self._folder, path):
            if not _is_shared(made, state):
                path.unlink()
                raise SetupError(
                    f"{state} (notify.state) belongs to user {state.stat().st_uid}, as whom the notifier runs, and it "
                    f"could not read what user {os.geteuid()} writes there: write the silence as that user"
                )

    def end(self, name: str, now: int) -> Silence | None:
        """End the silence now; None if there is no such silence, or it has ended."""
        found = next((one for one in self.all() if one.id == name and one.until_ts > now), None)
        if found is not None:
            self.add(replace(found, until_ts=now))
        return found

    def delete_old(self, now: int) -> None:
        """Delete silences that ended long ago. A file that cannot be deleted stays, but silences nothing."""
        for one in self.all():
            if now - one.until_ts > KEEP_MS:
                with suppress(OSError):
                    (self._folder / f"{one.id}.json").unlink()


def _is_there(folder: Path) -> bool:
    """False if the folder does not exist; else there may be silences."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_shared(made: Path, state: Path) -> bool:
    """True if the owner of ``state`` can read it; root makes them its owner."""
    owner = state.stat()
    if os.geteuid() == 0:
        os.chown(made, owner.st_uid, owner.st_gid)
    mine = made.stat()
    return mine.st_uid == owner.st_uid or (mine.st_gid == owner.st_gid and bool(mine.st_mode & 0o040))


def new_id() -> str:
    return token_hex(3)


def _read(path: Path) -> Silence | None:
    """Read a silence. Its name is that of the file, also if the content has another."""
    try:
        return replace(msgspec.json.decode(private_files.read(path), type=Silence), id=path.stem)
    except (msgspec.DecodeError, OSError) as error:
        log.error("%s is no silence and silences nothing: %s", path, error)
        return None
