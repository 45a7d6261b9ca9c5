"""The version of all tables together, in a file beside them: an evenkeel that is older neither writes nor reads them.

Columns and fields that are added need no new version: an older evenkeel writes rows without them, and does not read
them. Add one to ``TABLES_VERSION`` if it would do harm, or read rows wrongly. Tables without the file were made by
0.1.0.
"""

import msgspec
from msgspec import Struct

from streaming.errors import CheckpointError
from streaming.tables.storage import TextFiles

TABLES_VERSION = 1
_FILE = "_evenkeel.json"  # Hadoop takes a file whose name begins so for no data


class _Made(Struct, frozen=True):
    tables_version: int = 0


def require_known_tables(tables: str) -> int:
    """The version of the tables, 0 if they do not say it. Raises CheckpointError for one that is newer."""
    try:
        made = msgspec.json.decode(TextFiles(tables).read(_FILE) or "{}", type=_Made).tables_version
    except msgspec.MsgspecError as error:
        raise CheckpointError(f"{tables}/{_FILE} cannot be read ({error}): restore it, or delete it") from error
    if made > TABLES_VERSION:
        raise CheckpointError(
            f"the tables in {tables} are of version {made}, and this evenkeel knows version {TABLES_VERSION}: start "
            "the newer evenkeel, or name another folder in tables.path"
        )
    return made


def take_tables(tables: str) -> None:
    """Before the first write: refuse tables of a newer evenkeel, and keep older ones from writing from now on."""
    if require_known_tables(tables) < TABLES_VERSION:
        TextFiles(tables).write(_FILE, msgspec.json.encode(_Made(TABLES_VERSION)).decode())
