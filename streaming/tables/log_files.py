"""The files of a table's log, of which old ones are deleted: every commit lists all of them.

Delta and deltalake keep them for days, by the table's property.
"""

import re
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from pyarrow.fs import FileSelector

from streaming.tables.storage import files_in

NO_VERSION = -1
# With a dot before it: Hadoop's checksum of the file. A damaged commit that was set aside stays (``damaged_commits``).
_NUMBERED = re.compile(r"(\.?)(\d{20})\.(?!damaged$)")


class _LogFile(NamedTuple):
    version: int
    path: str
    modified: datetime
    is_checkpoint: bool
    is_checksum: bool


class LogFiles:
    """The files that the log of the table at ``path`` has now."""

    def __init__(self, path: str) -> None:
        self._files = files_in(path)
        self._found = sorted(self._listed())

    def newest_version(self) -> int:
        return max((one.version for one in self._found), default=NO_VERSION)

    def newest_checkpoint(self, before: datetime | None = None) -> int:
        """The version of the newest checkpoint, or of the newest that is older than ``before``."""
        ours = [one for one in self._found if one.is_checkpoint and (before is None or one.modified < before)]
        return max((one.version for one in ours), default=NO_VERSION)

    def delete_before(self, version: int) -> int:
        """Delete the files of the versions before this one, the oldest first; how many, without Hadoop's checksums."""
        deleted = 0
        for one in self._found:
            if one.version < version:
                with suppress(FileNotFoundError):  # another process has deleted it
                    self._files.delete_file(one.path)
                    deleted += not one.is_checksum
        return deleted

    def _listed(self) -> list[_LogFile]:
        found = []
        for one in self._files.get_file_info(FileSelector("_delta_log")):
            name = _NUMBERED.match(one.base_name)
            if name is not None and one.mtime is not None:
                is_checksum = bool(name[1])
                is_checkpoint = ".checkpoint" in one.base_name and not is_checksum
                found.append(_LogFile(int(name[2]), one.path, one.mtime, is_checkpoint, is_checksum))
        return found
