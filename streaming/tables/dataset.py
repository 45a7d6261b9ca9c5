"""A Delta table as an Arrow dataset: filters leave out days and files that hold nothing of interest."""

from pathlib import Path

import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem


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
