"""The folder of the tables as deltalake and pyarrow open it: on this machine or in an object store.

deltalake takes the credentials of an object store from the environment. A file marks tables that a replay or a demo has
made, so that no pages are sent for them.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem, PyFileSystem, SubTreeFileSystem

from streaming.config.config_errors import without_userinfo
from streaming.errors import AwayError

REPLAYED_MARK = "_replayed"  # Hadoop takes a file whose name begins so for no data
_TREE = re.compile(r"\x1b\[[0-9;]*m|↳")
_BACKTRACE = re.compile(r"\s+(\d+: |at )")


def delta_uri(address: str) -> str:
    """The address for deltalake: Hadoop's s3a is its s3."""
    return address.replace("s3a://", "s3://", 1)


def local_path(address: str) -> Path | None:
    """A folder of this machine; None for the address of another storage."""
    parts = urlsplit(address)
    if "://" not in address and parts.scheme != "file":
        return Path(address)
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def files_in(folder: str) -> FileSystem:
    """The file system of the folder. For local ones it is pyarrow's: deltalake's blocks all threads while a disk
    hangs.
    """
    path = local_path(folder)
    if path is not None:
        return SubTreeFileSystem(str(path), LocalFileSystem())
    return PyFileSystem(DeltaStorageHandler(delta_uri(folder)))


class TextFiles:
    """Small text files in one folder; names are relative to it. Raises AwayError where it cannot be used."""

    def __init__(self, folder: str) -> None:
        self.uri = folder.rstrip("/")
        self._path = local_path(folder)
        self._files = files_in(folder)

    def read(self, name: str) -> str | None:
        """The file's text; None where there is none."""
        with away_said(self.uri):
            try:
                with self._files.open_input_stream(name) as stream:
                    return str(stream.read().decode())
            except FileNotFoundError:
                return None

    def write(self, name: str, text: str) -> None:
        """Write the file whole or not at all, also if the machine loses power."""
        with away_said(self.uri):
            if self._path is not None:
                _replace(self._path / name, text)
            else:
                _put(self.uri, name, text)

    def names(self, folder: str) -> list[str]:
        """The files in a sub-folder; none where it is not there."""
        with away_said(self.uri):
            found = self._files.get_file_info(FileSelector(folder, allow_not_found=True))
        return [one.base_name for one in found if one.type == FileType.File]

    def numbers(self, name: str) -> list[int]:
        """The files of a sub-folder that are named by a number, ascending, with any suffix."""
        names = (file.split(".")[0] for file in self.names(name))
        return sorted(int(number) for number in names if number.isdecimal())

    def delete(self, name: str) -> None:
        """Remove a file, or a folder with all that it holds."""
        with away_said(self.uri):
            kind = self._files.get_file_info(name).type
            if kind == FileType.File:
                self._files.delete_file(name)
            elif kind == FileType.Directory:
                self._files.delete_dir(name)


@contextmanager
def away_said(folder: str) -> Iterator[None]:
    """Raise the errors of deltalake, pyarrow and the system as AwayError."""
    try:
        yield
    except (OSError, DeltaError) as error:
        raise AwayError(f"{without_userinfo(folder)} cannot be used: {error_in_short(error)}") from error


def error_in_short(error: BaseException) -> str:
    """The error in short: deltalake writes a coloured tree of causes; its first line and root cause are enough."""
    said = [line for line in str(error).splitlines() if line.strip() and not _BACKTRACE.match(line)]
    lines = [_TREE.sub("", line).strip() for line in said]
    return ": ".join(dict.fromkeys((lines[0], lines[-1]))) if lines else type(error).__name__


def _put(folder: str, name: str, text: str) -> None:
    """Write a file. Object stores show it when it is whole. deltalake's stream takes bytes, not pyarrow's buffers."""
    stream: Any = DeltaStorageHandler(delta_uri(folder))._handler.open_output_stream(name, None)
    stream.write(text.encode())
    stream.close()


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    with new.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def mark_replayed(tables: Path, by: str) -> None:
    """Mark the tables. ``by``: the command that made them."""
    (tables / REPLAYED_MARK).write_text(by, encoding="utf-8")


def replayed_by(tables: str) -> str | None:
    """The replay or demo that made these tables; None for tables of a job."""
    path = Path(tables.removeprefix("file://"), REPLAYED_MARK)
    return path.read_text(encoding="utf-8") if "://" not in str(path) and path.is_file() else None
