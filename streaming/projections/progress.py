"""The projections' position in ``facts``: a small file beside the tables, written before and after each batch.

Before a batch it has the position at the end of the batch. So an interrupted batch is repeated with the same facts.
Each table has the number of its last batch in its log (``ProjectionTable.has``).

The projections of an evenkeel up to 0.1 were a Spark query. Its checkpoint is read once, then deleted, and the tables
continue from there. If it stopped within a batch or a commit, which tables have which facts is not known: then there
is no position, and the projections start over.
"""

import msgspec
from msgspec import Struct, field

from streaming.tables.storage import TextFiles

CHECKPOINT = "_checkpoints/projections"
_FILE = "position.json"
SPARKS_FILES = ("offsets", "commits", "sources", "metadata", "evenkeel")


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
        return _progress_of_spark(tables) if text is None else msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return None


def write_progress(tables: str, progress: Progress) -> None:
    checkpoint_of(tables).write(_FILE, msgspec.json.encode(progress).decode())


def delete_progress(tables: str) -> None:
    checkpoint_of(tables).delete(_FILE)
    delete_spark_checkpoint(tables)


class _Offset(Struct):
    """An offset as Delta writes it. ``index`` is below 0 if nothing of the version is read."""

    table: str = field(name="reservoirId")
    version: int = field(name="reservoirVersion")
    index: int
    initial: bool = field(name="isStartingVersion", default=False)


def _progress_of_spark(tables: str) -> Progress | None:
    """The progress in Spark's checkpoint; None if there is no checkpoint, or no position to continue from."""
    files = checkpoint_of(tables)
    identity = files.read("evenkeel/identity")
    committed, begun = (max(files.numbers(folder), default=-1) for folder in ("commits", "offsets"))
    done = _position(files, committed)
    if identity is None or done is None or begun > committed:
        return None
    return Progress(identity=identity, batch_id=committed + 1, done=done)


def delete_spark_checkpoint(tables: str) -> None:
    """Delete the checkpoint, so that an older evenkeel does not continue from it."""
    files = checkpoint_of(tables)
    for name in SPARKS_FILES:
        files.delete(name)


def _position(files: TextFiles, number: int) -> Position | None:
    text = files.read(f"offsets/{number}")
    if text is None:
        return None
    offset = msgspec.json.decode(text.splitlines()[-1], type=_Offset)
    if offset.index >= 0 or offset.initial:
        return None
    return Position(table=offset.table, version=offset.version)
