"""Small file systems in memory, one for each kind of evenkeel's files, that can be filled and freed."""

import errno
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SIZE_MB = 1024
BALLAST = "ballast"


@contextmanager
def mounted(folder: Path, names: Sequence[str]) -> Iterator[None]:
    """Mount one at each of these folders, if this process may; otherwise they are plain folders."""
    if not may_mount():
        for name in names:
            (folder / name).mkdir(parents=True, exist_ok=True)
        yield
        return
    try:
        for name in names:
            (folder / name).mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", folder / name], check=True)
        yield
    finally:
        unmount(folder, names)


def unmount(folder: Path, names: Sequence[str]) -> None:
    """Also what an earlier run left, if it was killed."""
    for name in names:
        if os.path.ismount(folder / name):
            subprocess.run(["umount", "--lazy", folder / name], check=True)


def may_mount() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


def fill(disk: Path) -> None:
    """Until it takes nothing more. Others write there, too: what was left a moment ago can't be taken at once."""
    with (disk / BALLAST).open("ab") as file:
        left = os.statvfs(disk)
        size = left.f_bavail * left.f_frsize // 2
        while size:
            try:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                size //= 2


def free(disk: Path) -> None:
    (disk / BALLAST).unlink()
