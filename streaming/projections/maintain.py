"""The maintenance of the tables that deltalake writes: all but ``facts``. It may run beside the projections."""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
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
from streaming.tables.maintenance import FIRST_ROUND_AFTER_S, Maintained, MaintainOptions, Round
from streaming.tables.storage import delta_uri

log = logging.getLogger(__name__)

ROUNDS_AN_HOUR = 6
WRITTEN_HERE = tuple(table for table in TABLES if table is not FACTS)


def maintain(
    tables: str,
    options: MaintainOptions | None = None,
    now: datetime | None = None,
    only: Iterable[Table] = WRITTEN_HERE,
) -> Iterator[Maintained]:
    """Maintain one table after the other; yield the result of each. ``now`` decides which rows have expired.

    Raises InUseError while another process maintains them: of two compactions deltalake would keep both results.
    """
    work = Round(tables, options or MaintainOptions(), now or datetime.now(timezone.utc))
    with maintaining_alone(tables):
        for table in only:
            if DeltaTable.is_deltatable(delta_uri(f"{tables}/{table.name}")):
                yield work.maintain(table, _DeltalakeUpkeep(tables, table, work.now, work.options.tombstone_days))


def maintain_regularly(tables: str, options: MaintainOptions, *, stop: Event, every_seconds: float = 600) -> None:
    """Maintain until ``stop``, in a thread: all tables once an hour; tables of current state, whose files are replaced
    all the time, every ten minutes. Errors are logged, and the work is tried again in the next round.
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


class _DeltalakeUpkeep:
    def __init__(self, tables: str, table: Table, now: datetime, tombstone_days: int) -> None:
        self._tables, self._table = tables, table
        self._path = delta_uri(f"{tables}/{table.name}")
        self._gone_until = now - timedelta(days=tombstone_days)

    def drop_expired(self, days: list[str]) -> int:
        if self._table in CURRENT:
            return self._drop_gone_rows()
        if days and not self._table.keep_newest_of:  # whole partitions: no file is read
            return int(self._open().delete(f"date <= '{days[-1]}'")["num_deleted_rows"] or 0)
        return sum(drop_superseded(self._open(), self._table, day) for day in days)

    def _drop_gone_rows(self) -> int:
        """Drop rows of what is gone, but not while projections start over: older facts may then follow newer ones."""
        read = read_progress(self._tables)
        if read is None or read.done.initial:
            return 0
        opened = self._open()
        rows = all_rows(opened)
        since = pa.scalar(self._gone_until, rows["ts"].type)
        kept = rows.filter(pc.or_(pc.fill_null(rows["present"], True), pc.greater_equal(rows["ts"], since)))
        if kept.num_rows < rows.num_rows:
            overwrite(opened, kept)
        return rows.num_rows - kept.num_rows

    def compact(self, before: str | None) -> tuple[int, int]:
        closed = None if before is None else [("date", "<", before)]
        metrics = self._open().optimize.compact(partition_filters=closed, max_concurrent_tasks=1)
        return metrics["numFilesRemoved"], metrics["numFilesAdded"]

    def vacuum(self) -> None:
        self._open().vacuum(dry_run=False, full=True)

    def shorten_log(self, before: datetime) -> int:
        return shorten_log(self._open(), self._path, before)

    def _open(self) -> DeltaTable:
        return DeltaTable(self._path)
