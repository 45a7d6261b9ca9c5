"""The checkpoint of an evenkeel up to 0.1, whose projections were a Spark query. It is read once, then deleted.

The tables continue from there. If it stopped within a batch or a commit, which tables have which facts is not known:
None is returned, and the projections start over.
"""

import msgspec
from msgspec import Struct, field

from streaming.projections.progress import Position, Progress, checkpoint_of
from streaming.tables.storage import TextFiles

SPARKS_FILES = ("offsets", "commits", "sources", "metadata", "evenkeel")


class _Offset(Struct):
    """An offset as Delta writes it. ``index`` is below 0 if nothing of the version is read."""

    table: str = field(name="reservoirId")
    version: int = field(name="reservoirVersion")
    index: int
    initial: bool = field(name="isStartingVersion", default=False)


def read_spark_checkpoint(tables: str) -> Progress | None:
    """The progress in the checkpoint; None if there is no checkpoint, or no position to continue from."""
    files = checkpoint_of(tables)
    identity = files.read("evenkeel/identity")
    committed, begun = (max(_numbers(files, folder), default=-1) for folder in ("commits", "offsets"))
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


def _numbers(files: TextFiles, folder: str) -> list[int]:
    return [int(name) for name in files.names(folder) if name.isdecimal()]
