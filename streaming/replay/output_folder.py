"""Folders that a command empties at each run. It deletes only its own files."""

import shutil
from pathlib import Path

from streaming.errors import SetupError

MARK = ".made-by-evenkeel"


def fresh_folder(path: Path) -> Path:
    """Create an empty folder. Deletes files of an earlier run; raises SetupError for any other files."""
    try:
        if path.is_dir() and any(path.iterdir()):
            if not (path / MARK).exists():
                raise SetupError(f"{path} holds files that evenkeel did not make: name another folder")
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        (path / MARK).write_text("Deleted and made again by the next run that names this folder.\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"{path} cannot be made: {error.strerror or error}") from error
    return path
