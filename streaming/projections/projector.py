"""The writer of the projections, batch after batch. If it is killed at any moment, no row is lost or duplicated.

The facts of a batch are recorded before anything is written. An append records its batch in the table's log, and is not
repeated. A merge needs no such record: it applies only a larger ``seq``, so repeating it changes nothing.
"""

from collections.abc import Callable

import pyarrow as pa
from deltalake import DeltaTable
from msgspec.structs import replace

from schemas.tables import CURRENT, FACTS, HISTORY, PROJECTIONS
from streaming.errors import CheckpointError
from streaming.projections.beginning import begin, can_go_on, start_over
from streaming.projections.columns import rows_of
from streaming.projections.locks import writing_alone
from streaming.projections.new_facts import FactsReader, facts_between
from streaming.projections.progress import Pending, Position, Progress, delete_progress, write_progress
from streaming.projections.table import ProjectionTable, newest
from streaming.tables.creation import create_tables
from streaming.tables.damaged_commits import damaged_commits, say_mended, set_damaged_aside
from streaming.tables.facts_log import FactsLog
from streaming.tables.storage import delta_uri
from streaming.wall_clock import now_ms

POLLS_BETWEEN_CHECKS = 12  # polls without a commit, after which the log is checked

Tell = Callable[[int, int], None]


class Projector:
    """A writer, made by ``open_projector``. After an error it must not be used again: open another."""

    def __init__(self, tables: str, log: FactsLog, progress: Progress) -> None:
        self._tables = tables
        self._log = log
        self._progress = progress
        self._table = {table.name: ProjectionTable(tables, table) for table in (*HISTORY, *CURRENT)}
        if progress.pending is not None:  # an interrupted batch is repeated with the same facts
            self._project(facts_between(log, progress.done, progress.pending.upto), is_repeated=True)
            self._keep_done(progress.pending.upto)
        self._reader = FactsReader(log, self._progress.done)
        self._polls = 0

    def next_batch(self) -> int | None:
        """Write the rows of the next facts. Return the number of facts, or None if nothing was committed."""
        facts = self._reader.next_batch()
        self._polls = 0 if facts else self._polls + 1
        if facts is None:
            self._check_log()
            return None
        if facts.rows.num_rows:
            self._keep(replace(self._progress, pending=Pending(upto=facts.upto)))
            self._project(facts.rows)
        self._keep_done(facts.upto)
        return int(facts.rows.num_rows)

    def _project(self, facts: pa.Table, is_repeated: bool = False) -> None:
        for table in HISTORY:
            rows = rows_of(table, facts)
            batch = self._progress.identity, self._progress.batch_id
            if rows.num_rows and not (is_repeated and self._table[table.name].has(*batch)):
                self._table[table.name].append(rows, *batch)
        for table in CURRENT:
            rows = rows_of(table, facts)
            if rows.num_rows:
                self._table[table.name].merge(newest(rows, table))

    def _check_log(self) -> None:
        """Check the log: this process may have been stopped for longer than the log is kept."""
        if self._polls >= POLLS_BETWEEN_CHECKS:
            self._polls = 0
            if not can_go_on(self._tables, self._log, self._progress.done):
                self._progress = start_over(self._tables, self._log)
                self._reader = FactsReader(self._log, self._progress.done)

    def _keep_done(self, upto: Position) -> None:
        self._keep(replace(self._progress, batch_id=self._progress.batch_id + 1, done=upto, pending=None))

    def _keep(self, progress: Progress) -> None:
        write_progress(self._tables, progress)
        self._progress = progress


def open_projector(tables: str, *, afresh: bool = False) -> Projector:
    """Open a writer; ``afresh``: make all rows of facts again. The caller must have the lock of the projections.

    Raises CheckpointError if there are no facts, or others than before.
    """
    log = FactsLog(f"{tables}/{FACTS.name}")
    if not log.exists():
        raise CheckpointError(f"there are no facts in {tables} to make the other tables from")
    _mend(tables)
    create_tables(tables)
    return Projector(tables, log, begin(tables, log, afresh=afresh))


def _mend(tables: str) -> None:
    """Set damaged commits aside, and forget the position, so that all rows are made again."""
    damaged = [path for table in PROJECTIONS if damaged_commits(path := f"{tables}/{table.name}")]
    if damaged:
        delete_progress(tables)  # first: a start that is interrupted after this makes the rows again, too
    for path in damaged:
        say_mended(path, set_damaged_aside(path, now_ms()))


def run_projections(tables: str, *, afresh: bool = False, tell: Tell | None = None) -> None:
    """Update the tables up to the newest fact, and return; ``afresh``: make all rows of facts again.

    ``tell`` is called with the numbers of facts read and of all facts. Raises CheckpointError, also while another
    process writes the projections.
    """
    with writing_alone(tables):
        projector = open_projector(tables, afresh=afresh)
        read, of = 0, FactsLog(f"{tables}/{FACTS.name}").table().count() if tell else 0
        while (facts := projector.next_batch()) is not None:
            read += facts
            if tell is not None:
                tell(read, of)


def rebuild(tables: str, tell: Tell | None = None) -> dict[str, int]:
    """Make every projection again from ``facts``; return the rows of each table. Otherwise as ``run_projections``.

    Rows whose facts have expired cannot be made again, and stay unchanged.
    """
    run_projections(tables, afresh=True, tell=tell)
    return {table.name: DeltaTable(delta_uri(f"{tables}/{table.name}")).count() for table in PROJECTIONS}
