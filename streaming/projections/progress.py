"""The projections' position in ``facts``: a small file beside the tables, written before and after each batch.

Before a batch it has the position at the end of the batch. So an interrupted batch is repeated with the same facts.
Each table has the number of its last batch in its log (``ProjectionTable.has``).
"""

import msgspec
from msgspec import Struct

from streaming.tables.storage import TextFiles

CHECKPOINT = "_checkpoints/projections"
_FILE = "position.json"


class Position(Struct, frozen=True, kw_only=True):
    """A position in ``facts``: all commits below ``version`` are read, and ``rows`` rows that ``version`` added.

    ``initial``: ``rows`` counts rows of the whole table at ``version`` instead. ``table``: Delta's id of the table.
    """

    table: str
    version: int
    rows: int = 0
    initial: bool = False


class Pending(Struct, frozen=True, kw_only=True):
    """A batch that was begun. ``upto``: the position after it."""

    upto: Position


class Progress(Struct, frozen=True, kw_only=True):
    """The progress. ``identity``: of this numbering of batches; ``batch_id``: of the batch that is begun or next."""

    identity: str
    batch_id: int
    done: Position
    pending: Pending | None = None


def checkpoint_of(tables: str) -> TextFiles:
    """The folder of the projections' own files, in the folder of all tables."""
    return TextFiles(f"{tables}/{CHECKPOINT}")


def read_progress(tables: str) -> Progress | None:
    """The saved progress; None before the first batch, or if the file is damaged: then the projections start over."""
    text = checkpoint_of(tables).read(_FILE)
    try:
        return None if text is None else msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return None


def write_progress(tables: str, progress: Progress) -> None:
    checkpoint_of(tables).write(_FILE, msgspec.json.encode(progress).decode())


def delete_progress(tables: str) -> None:
    checkpoint_of(tables).delete(_FILE)
