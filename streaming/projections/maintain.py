"""Compacts and cleans the tables that deltalake writes: all but ``facts``. It may run beside the projections.

Days are compacted, rows past their retention dropped, replaced files deleted, and the logs of the tables kept short:
every commit lists the whole log.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import count
from threading import Event

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from schemas.table_definition import Table
from schemas.tables import CURRENT, FACTS, TABLES
from streaming.projections.locks import maintaining_alone
from streaming.projections.log_files import shorten_log
from streaming.projections.progress import read_progress
from streaming.projections.superseded import drop_superseded
from streaming.projections.table import all_rows, overwrite
from streaming.tables.conflicts import retried
from streaming.tables.maintenance import FIRST_ROUND_AFTER_S, Maintained, MaintainOptions
from streaming.tables.storage import delta_uri

log = logging.getLogger(__name__)

WRITES = ("WRITE", "MERGE", "STREAMING UPDATE")  # the last is Spark's: of an older evenkeel
COMMITS_READ = 20
ROUNDS_AN_HOUR = 6
WRITTEN_HERE = tuple(table for table in TABLES if table is not FACTS)


def maintain(
    tables: str,
    options: MaintainOptions | None = None,
    now: datetime | None = None,
    only: Iterable[Table] = WRITTEN_HERE,
) -> Iterator[Maintained]:
    """One round, table after table; what each got. ``now`` decides which days are over and which rows too old.

    Raises InUseError while another process maintains them: of two compactions at once deltalake would keep both.
    """
    work = _Round(tables, options or MaintainOptions(), now or datetime.now(timezone.utc))
    with maintaining_alone(tables):
        for table in only:
            if DeltaTable.is_deltatable(delta_uri(f"{tables}/{table.name}")):
                yield work.maintain(table)


def maintain_regularly(tables: str, options: MaintainOptions, *, stop: Event, every_seconds: float = 600) -> None:
    """For a thread, until ``stop``: all tables once an hour, the current ones, whose files are replaced all the time,
    every ten minutes. What goes wrong is logged, and tried again in the next round.
    """
    wait = min(every_seconds, FIRST_ROUND_AFTER_S)
    for number in count():
        if stop.wait(wait):
            return
        wait = every_seconds
        try:
            for done in maintain(tables, options, only=CURRENT if number % ROUNDS_AN_HOUR else WRITTEN_HERE):
                log.info("maintained %s", done)
                if stop.is_set():
                    return
        except Exception:
            log.exception("maintenance of %s failed; it is tried again in %.0f s", tables, every_seconds)


class _Round:
    def __init__(self, tables: str, options: MaintainOptions, now: datetime) -> None:
        self._tables = tables
        self._options = options
        self._now = now
        self._today = now.astimezone(timezone.utc).date()

    def maintain(self, table: Table) -> Maintained:
        done = Maintained(table.name)
        last_write = self._last_write(table)
        drop = self._drop_gone_rows if table in CURRENT else self._drop_expired_rows
        for step in (drop, self._compact, self._vacuum):
            retried(partial(step, table, done))
        if last_write is not None:
            self._shorten_log(last_write, table, done)
        return done

    def _drop_expired_rows(self, table: Table, done: Maintained) -> None:
        kept = self._options.days_kept(table)
        first_kept = str(self._today - timedelta(days=kept))
        expired = sorted({day for day in self._days(table) if day < first_kept}) if kept else []
        if expired and not table.keep_newest_of:  # whole partitions: no file is read
            done.rows_dropped += int(self._open(table).delete(f"date < '{first_kept}'")["num_deleted_rows"] or 0)
        elif expired:
            done.rows_dropped += sum(drop_superseded(self._open(table), table, day) for day in expired)

    def _drop_gone_rows(self, table: Table, done: Maintained) -> None:
        """Drop what is gone. Not while the projections start over, when older facts may still come after newer ones."""
        read = read_progress(self._tables)
        if read is None or read.done.initial:
            return
        opened = self._open(table)
        rows = all_rows(opened)
        since = pa.scalar(self._now - timedelta(days=self._options.tombstone_days), rows["ts"].type)
        kept = rows.filter(pc.or_(pc.fill_null(rows["present"], True), pc.greater_equal(rows["ts"], since)))
        if kept.num_rows < rows.num_rows:
            overwrite(opened, kept)
            done.rows_dropped += rows.num_rows - kept.num_rows

    def _compact(self, table: Table, done: Maintained) -> None:
        """Only of tables by day: the others are one file, and must not be compacted (``overwrite``)."""
        if not table.partitioned_by:
            return
        is_open = sum(day >= str(self._today) for day in self._days(table)) < self._options.files_a_day
        closed = [("date", "<", str(self._today))] if is_open else None
        metrics = self._open(table).optimize.compact(partition_filters=closed, max_concurrent_tasks=1)
        done.files_before += metrics["numFilesRemoved"]
        done.files_after += metrics["numFilesAdded"]

    def _vacuum(self, table: Table, done: Maintained) -> None:
        """Files that were replaced stay for as long as the table's own property says. Appends alone replace none."""
        if table in CURRENT or done.rows_dropped or done.files_before:
            self._open(table).vacuum(dry_run=False, full=True)

    def _shorten_log(self, last_write: datetime, table: Table, done: Maintained) -> None:
        """The newest write stays whatever its age: the notifier reads in it what it has written."""
        before = last_write - timedelta(hours=self._options.log_hours)
        done.log_files_deleted += shorten_log(self._open(table), self._path(table), before)

    def _last_write(self, table: Table) -> datetime | None:
        """When something other than maintenance last changed the table."""
        history = self._open(table).history(COMMITS_READ)
        times = [commit["timestamp"] for commit in history if commit.get("operation") in WRITES]
        return datetime.fromtimestamp(max(times) / 1000, timezone.utc) if times else None

    def _days(self, table: Table) -> list[str]:
        """The day of each file."""
        files = pa.table(self._open(table).get_add_actions(flatten=True))
        return list(map(str, files["partition.date"].to_pylist())) if files.num_rows else []

    def _open(self, table: Table) -> DeltaTable:
        return DeltaTable(self._path(table))

    def _path(self, table: Table) -> str:
        return delta_uri(f"{self._tables}/{table.name}")
