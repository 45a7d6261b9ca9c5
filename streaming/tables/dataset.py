"""A Delta table as an Arrow dataset: filters leave out days and files that hold nothing of interest."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from streaming.errors import SourceError


@contextmanager
def damage_said(path: str) -> Iterator[None]:
    """Raises SourceError for files that are missing, damaged, or not evenkeel's, and for those that may not be read."""
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise SourceError(
            f"{path}: its files cannot be read: {why}. Tables that people read are made again by 'evenkeel rebuild'; "
            "of lost facts only a backup has a copy"
        ) from error


def open_dataset(path: str) -> ds.Dataset:
    """Of a folder, or of an address that deltalake can reach. Raises deltalake's errors.

    Files of this machine are read by Arrow itself: threads that read through deltalake's own file system call into
    Python, and abort the process if it is just ending.
    """
    table = DeltaTable(path)
    folder = Path(path)
    if not folder.is_dir():
        return table.to_pyarrow_dataset()
    return table.to_pyarrow_dataset(filesystem=SubTreeFileSystem(str(folder.resolve()), LocalFileSystem()))
