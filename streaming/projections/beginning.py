"""Where the projections begin: they go on from their position, or make again all that facts still tell."""

from datetime import date
from functools import partial
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from schemas.table_definition import Table
from schemas.tables import PROJECTIONS
from streaming.errors import CheckpointError
from streaming.projections.progress import Position, Progress, delete_progress, read_progress, write_progress
from streaming.projections.spark_checkpoint import delete_spark_checkpoint, read_spark_checkpoint
from streaming.projections.table import all_rows, overwrite
from streaming.tables.conflicts import retried
from streaming.tables.facts_log import FactsLog
from streaming.tables.storage import delta_uri

FIRST_REAL_DAY = date(2001, 1, 1)  # quarantined lines of files have no time: their facts are of 1970


def begin(tables: str, log: FactsLog, *, afresh: bool) -> Progress:
    """From where to go on; ``afresh``: make all that facts tell again. Raises CheckpointError."""
    known = None if afresh else read_progress(tables) or _adopted(tables)
    return known if known is not None and can_go_on(tables, log, known.done) else start_over(tables, log)


def can_go_on(tables: str, log: FactsLog, read: Position) -> bool:
    """Whether ``facts`` can still be read from here on: its log is there, or is yet to be written.

    Raises CheckpointError if it is another table by now.
    """
    newest = log.newest()
    if newest.id != read.table:
        raise CheckpointError(
            f"the facts in {tables} are not those that the tables beside them were made from: restore them, or delete "
            f"{tables}/_checkpoints and all tables but facts"
        )
    return _is_there(log, read.version) if read.initial else log.has(read.version) or read.version == newest.version + 1


def start_over(tables: str, log: FactsLog) -> Progress:
    """The old position goes first and the new one comes last: if this is cut short, it is done again."""
    delete_progress(tables)
    delete_spark_checkpoint(tables)
    table = log.table()
    oldest = _oldest_day(table)
    for projection in PROJECTIONS:
        path = delta_uri(f"{tables}/{projection.name}")
        retried(partial(_delete_told_by_facts, path, projection, oldest))
    done = Position(table=str(table.metadata().id), version=table.version(), initial=True)
    progress = Progress(identity=str(uuid4()), batch_id=0, done=done)
    write_progress(tables, progress)
    return progress


def _adopted(tables: str) -> Progress | None:
    """Of an older evenkeel. It goes only once it is written in the new file."""
    progress = read_spark_checkpoint(tables)
    if progress is not None:
        write_progress(tables, progress)
        delete_spark_checkpoint(tables)
    return progress


def _is_there(log: FactsLog, version: int) -> bool:
    try:
        log.table(version)
    except (DeltaError, OSError):
        return False
    return True


def _oldest_day(facts: DeltaTable) -> date | None:
    """The first day that facts still hold, whole; None if they hold none."""
    files = pa.table(facts.get_add_actions(flatten=True))
    days = files["partition.date"].to_pylist() if files.num_rows else []
    return min((day for day in days if day is not None and day >= FIRST_REAL_DAY), default=None)


def _delete_told_by_facts(path: str, table: Table, oldest: date | None) -> None:
    """Rows that will be made again. Older ones stay as they are: their facts have expired."""
    opened = DeltaTable(path)
    if "date" in table.partitioned_by:  # whole partitions: no file is read
        again = f"date < '{FIRST_REAL_DAY}'"
        opened.delete(again if oldest is None else f"{again} OR date >= '{oldest}'")
        return
    rows = all_rows(opened)
    days = rows["ts"].cast(pa.date32())
    is_kept = pc.greater_equal(days, FIRST_REAL_DAY)
    kept = rows.filter(is_kept if oldest is None else pc.and_(is_kept, pc.less(days, oldest)))
    if kept.num_rows < rows.num_rows:
        overwrite(opened, kept)
