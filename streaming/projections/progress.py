"""How far the projections have read ``facts``: a small file beside the tables, written before and after each batch.

Before a batch it says up to where the batch goes. So a batch that was cut short is done again with the same facts, and
each table says in its log which batch it has (``ProjectionTable.has``).
"""

import msgspec
from msgspec import Struct

from streaming.tables.storage import TextFiles

CHECKPOINT = "_checkpoints/projections"
_FILE = "position.json"


class Position(Struct, frozen=True, kw_only=True):
    """All commits of ``facts`` below ``version`` are read, and ``rows`` rows of those that ``version`` brought.

    ``initial``: not of those that it brought, but of the whole table as it then was. ``table``: Delta's id of it.
    """

    table: str
    version: int
    rows: int = 0
    initial: bool = False


class Pending(Struct, frozen=True, kw_only=True):
    """A batch that was begun. ``appended``: tables of which only an older evenkeel's notes say that they have it."""

    upto: Position
    appended: tuple[str, ...] = ()


class Progress(Struct, frozen=True, kw_only=True):
    """``identity`` names this numbering of batches; ``batch_id``: of the batch at hand, or else of the next one."""

    identity: str
    batch_id: int
    done: Position
    pending: Pending | None = None


def checkpoint_of(tables: str) -> TextFiles:
    """The folder of the projections' own files, in the folder of all tables."""
    return TextFiles(f"{tables}/{CHECKPOINT}")


def read_progress(tables: str) -> Progress | None:
    """None before the first batch, and where the file is damaged: then the projections start over."""
    text = checkpoint_of(tables).read(_FILE)
    try:
        return None if text is None else msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return None


def write_progress(tables: str, progress: Progress) -> None:
    checkpoint_of(tables).write(_FILE, msgspec.json.encode(progress).decode())


def delete_progress(tables: str) -> None:
    checkpoint_of(tables).delete(_FILE)
