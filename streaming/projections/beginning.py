"""The beginning of the projections: they continue at their position, or make again all rows that facts still give."""

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
from streaming.projections.progress import (
    Position,
    Progress,
    delete_progress,
    read_progress,
    write_progress,
)
from streaming.projections.table import all_rows, overwrite
from streaming.tables.conflicts import retried
from streaming.tables.facts_log import FactsLog
from streaming.tables.storage import delta_uri

FIRST_REAL_DAY = date(2001, 1, 1)  # quarantined lines of files have no time: their facts are dated 1970


def begin(tables: str, log: FactsLog, *, afresh: bool) -> Progress:
    """The position to continue at; ``afresh``: make all rows of facts again. Raises CheckpointError."""
    known = None if afresh else read_progress(tables)
    if known is None or not can_go_on(tables, log, known.done):
        return start_over(tables, log)
    return known


def can_go_on(tables: str, log: FactsLog, read: Position) -> bool:
    """True if ``facts`` can be read from this position on: the commit is in the log, or is the next one to be written.

    Raises CheckpointError if it is now another table.
    """
    table = log.table()
    if str(table.metadata().id) != read.table:
        raise CheckpointError(
            f"the facts in {tables} are not those that the tables beside them were made from: restore them, or delete "
            f"{tables}/_checkpoints and all tables but facts"
        )
    return (
        _is_there(log, read.version) if read.initial else log.has(read.version) or read.version == table.version() + 1
    )


def start_over(tables: str, log: FactsLog) -> Progress:
    """Start over. The old position is deleted first, the new one written last: an interrupted start is repeated."""
    delete_progress(tables)
    table = log.table()
    oldest = _oldest_day(table)
    for projection in PROJECTIONS:
        path = delta_uri(f"{tables}/{projection.name}")
        retried(partial(_delete_told_by_facts, path, projection, oldest))
    done = Position(table=str(table.metadata().id), version=table.version(), initial=True)
    progress = Progress(identity=str(uuid4()), batch_id=0, done=done)
    write_progress(tables, progress)
    return progress


def _is_there(log: FactsLog, version: int) -> bool:
    try:
        log.table(version)
    except (DeltaError, OSError):
        return False
    return True


def _oldest_day(facts: DeltaTable) -> date | None:
    """The first day of which all facts are still there; None if there are none."""
    files = pa.table(facts.get_add_actions(flatten=True))
    days = files["partition.date"].to_pylist() if files.num_rows else []
    return min((day for day in days if day is not None and day >= FIRST_REAL_DAY), default=None)


def _delete_told_by_facts(path: str, table: Table, oldest: date | None) -> None:
    """Delete rows that will be made again. Older ones stay: their facts have expired."""
    opened = DeltaTable(path)
    if "date" in table.partitioned_by:  # whole partitions: no file must be read
        again = f"date < '{FIRST_REAL_DAY}'"
        opened.delete(again if oldest is None else f"{again} OR date >= '{oldest}'")
        return
    rows = all_rows(opened)
    days = rows["ts"].cast(pa.date32())
    is_kept = pc.greater_equal(days, FIRST_REAL_DAY)
    kept = rows.filter(is_kept if oldest is None else pc.and_(is_kept, pc.less(days, oldest)))
    if kept.num_rows < rows.num_rows:
        overwrite(opened, kept)
