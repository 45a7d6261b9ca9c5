"""The shortening of a table's log to hours. deltalake itself keeps it for days, by the table's property."""

import re
from datetime import datetime
from typing import NamedTuple

from deltalake import DeltaTable
from pyarrow.fs import FileSelector, FileSystem

from streaming.tables.storage import files_in

_NUMBERED = re.compile(r"(\d{20})\.")


class _LogFile(NamedTuple):
    path: str
    version: int
    is_checkpoint: bool
    modified: datetime


def shorten_log(table: DeltaTable, path: str, before: datetime) -> int:
    """Delete log files that are in a checkpoint older than ``before``. Return their number.

    So every version since then can still be read. A checkpoint is made now, for later rounds.
    """
    files = files_in(path)
    found = list(_log_files(files))
    summed_up = max((one.version for one in found if one.is_checkpoint and one.modified < before), default=0)
    over = [one for one in found if one.version < summed_up]
    for one in over:
        files.delete_file(one.path)
    if max((one.version for one in found if one.is_checkpoint), default=-1) < table.version():
        table.create_checkpoint()
    return len(over)


def _log_files(files: FileSystem) -> list[_LogFile]:
    listed = files.get_file_info(FileSelector("_delta_log"))
    return [
        _LogFile(one.path, int(number[1]), ".checkpoint" in one.base_name, one.mtime)
        for one in listed
        if (number := _NUMBERED.match(one.base_name)) and one.mtime is not None
    ]
