"""The checkpoint of an evenkeel up to 0.1, whose projections were a Spark query. It is read once, then deleted.

The tables continue from there. If it stopped within a commit, its position is not known: None is returned, and the
projections start over.
"""

from collections.abc import Iterable, Iterator

import msgspec
from deltalake import DeltaTable
from msgspec import Struct, field

from schemas.tables import HISTORY
from streaming.projections.progress import Pending, Position, Progress, checkpoint_of
from streaming.tables.storage import TextFiles, delta_uri

SPARKS_FILES = ("offsets", "commits", "sources", "metadata", "evenkeel")
NEWEST_COMMITS = 1000


class _Offset(Struct):
    """An offset as Delta writes it. ``index`` is below 0 if nothing of the version is read."""

    table: str = field(name="reservoirId")
    version: int = field(name="reservoirVersion")
    index: int
    initial: bool = field(name="isStartingVersion", default=False)


class _Note(Struct):
    """The note of each append of the query in the log."""

    projections: str
    batch_id: int


def read_spark_checkpoint(tables: str) -> Progress | None:
    """The progress in the checkpoint; None if there is no checkpoint, or no position to continue from."""
    files = checkpoint_of(tables)
    identity = files.read("evenkeel/identity")
    committed, begun = (max(_numbers(files, folder), default=-1) for folder in ("commits", "offsets"))
    done = _position(files, committed)
    if identity is None or done is None:
        return None
    if begun <= committed:
        return Progress(identity=identity, batch_id=committed + 1, done=done)
    upto = _position(files, begun)
    if upto is None:
        return None
    pending = Pending(upto=upto, appended=tuple(_appended(tables, identity, begun)))
    return Progress(identity=identity, batch_id=begun, done=done, pending=pending)


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


def _appended(tables: str, identity: str, batch_id: int) -> Iterator[str]:
    for table in HISTORY:
        path = delta_uri(f"{tables}/{table.name}")
        if DeltaTable.is_deltatable(path):
            said = (commit.get("userMetadata") for commit in DeltaTable(path).history(NEWEST_COMMITS))
            if any(note.projections == identity and note.batch_id == batch_id for note in _notes(said)):
                yield table.name


def _notes(said: Iterable[str | None]) -> Iterator[_Note]:
    for text in said:
        if text is not None and text.startswith('{"projections"'):
            yield msgspec.json.decode(text, type=_Note)
