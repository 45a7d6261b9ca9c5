"""Files and folders that only this process's user may read. No symbolic link is followed.

They contain addresses of clients and names of people. Otherwise somebody who may write to the folder could make
evenkeel overwrite, or read, another file through a link.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

FILE_MODE, FOLDER_MODE = 0o600, 0o700
OTHERS = 0o007  # the bits of all but the owner and the group
DEVICES = Path("/dev")  # /dev/stdout is a link; only root makes one there


def opened(path: Path, flags: int, mode: int = FILE_MODE) -> int:
    """The descriptor of a file, which is made with ``mode`` if ``flags`` say so. Raises OSError, also for a link."""
    no_link = 0 if path.parent == DEVICES else os.O_NOFOLLOW
    try:
        return os.open(path, flags | no_link | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _link(path) from error
        raise


def read(path: Path) -> bytes:
    """Read the file. Raises OSError, also for a pipe, which would never end."""
    with os.fdopen(opened(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no file", str(path))
        return file.read()


def replace(path: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Write the file whole or not at all, also if the machine fails. Makes the folder if missing. Raises OSError."""
    make_folder(path.parent)
    new = path.with_suffix(".new")
    with suppress(FileNotFoundError):
        new.unlink()
    with os.fdopen(opened(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def keep_as(path: Path, kept: Path) -> None:
    """Give the file ``kept`` as a second name, which it keeps when it is replaced. Does nothing if it is missing, or if
    the file system has no links.
    """
    with suppress(OSError):
        kept.unlink(missing_ok=True)
        os.link(path, kept, follow_symlinks=False)


def appended(path: Path) -> BinaryIO:
    """A file to append to. One that is there keeps its mode: somebody may have opened it to a reader on purpose."""
    return os.fdopen(opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")


def make_folder(folder: Path, mode: int = FOLDER_MODE) -> None:
    """Make the folder if missing, and close it to all but its owner and group. Raises OSError, also for a link."""
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    found = folder.lstat().st_mode
    if stat.S_ISLNK(found):
        raise _link(folder)
    if found & OTHERS and os.geteuid() in (0, folder.stat().st_uid):
        folder.chmod(stat.S_IMODE(found) & ~OTHERS)


def listed(folder: Path, suffix: str) -> list[Path]:
    """The files of a folder with this ending. Raises OSError, also for a link."""
    if folder.is_symlink():
        raise _link(folder)
    return sorted(path for path in folder.iterdir() if path.suffix == suffix)


def _link(path: Path) -> OSError:
    return OSError(errno.ELOOP, "a symbolic link, which evenkeel does not follow here", str(path))
