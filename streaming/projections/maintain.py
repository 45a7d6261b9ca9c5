"""The maintenance of the tables that deltalake writes: all but ``facts``. It may run beside the projections."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from threading import Event

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from schemas.table_definition import Table
from schemas.tables import ALERTS, CURRENT, FACTS, GROUP_MEMBERS, GROUP_STATUS, QUEUE_ASSIGNMENTS, TABLES
from streaming.projections.locks import maintaining_alone
from streaming.projections.progress import read_progress
from streaming.projections.table import all_rows, numbered, overwrite, without
from streaming.tables.arrow_types import unsliced
from streaming.tables.maintenance import EVERY_S, Maintained, MaintainOptions, Round, keep_maintaining
from streaming.tables.storage import delta_uri

# A history gets a file with each commit of the projections, some 120 in ten minutes. A day with fewer waits.
JOINED_BYTES, LEAST_JOINED = 4_000_000, 50
GONE_DAYS = 7  # so long members and queues that are gone stay in the tables of the current state
WRITTEN_HERE = tuple(table for table in TABLES if table is not FACTS)
_HISTORIES = tuple(table for table in WRITTEN_HERE if table not in CURRENT)
# A day more than the job keeps the state of a silent group: its last status may be an hour older than its last round,
# and clocks of groups differ. What the job has forgotten it tells again if the group comes back.
FORGOTTEN_MS = 86_400_000
# The last status of a group may have expired before that. So the newest row of a queue counts, too.
_FORGOTTEN = """
    SELECT groups.cluster, groups.consumer_group FROM (
      SELECT cluster, consumer_group, max(ts) AS ts FROM (
        SELECT cluster, consumer_group, ts FROM statuses UNION ALL SELECT cluster, consumer_group, ts FROM queues
      ) AS times GROUP BY cluster, consumer_group
    ) AS groups
    JOIN (SELECT cluster, max(ts) AS ts FROM statuses GROUP BY cluster) AS clusters ON clusters.cluster = groups.cluster
    WHERE groups.ts < clusters.ts - INTERVAL '{} milliseconds'
    EXCEPT SELECT cluster, consumer_group FROM members WHERE coalesce(present, true)
    EXCEPT SELECT cluster, consumer_group FROM (
      SELECT cluster, consumer_group, last_value(state ORDER BY ts, seq) AS state
      FROM alerts GROUP BY cluster, consumer_group, fingerprint
    ) AS newest WHERE state <> 'resolved'
"""
_QUERIED = {"statuses": GROUP_STATUS, "queues": QUEUE_ASSIGNMENTS, "members": GROUP_MEMBERS, "alerts": ALERTS}


def maintain(
    tables: str,
    options: MaintainOptions | None = None,
    now: datetime | None = None,
    only: Iterable[Table] = WRITTEN_HERE,
    in_full: bool = True,
) -> Iterator[Maintained]:
    """Maintain one table after the other; yield the result of each. ``now`` decides which rows have expired. If not
    ``in_full``, only small files are joined and the logs shortened; a table without either has no result.

    Raises InUseError while another process maintains them: of two compactions deltalake would keep both results.
    """
    work = Round(tables, options or MaintainOptions(), now or datetime.now(UTC))
    with maintaining_alone(tables):
        for table in only:
            if DeltaTable.is_deltatable(delta_uri(f"{tables}/{table.name}")):
                upkeep = _DeltalakeUpkeep(tables, table, work)
                step = work.maintain if in_full else partial(work.keep_short, join=upkeep.join_small)
                done = step(table, upkeep)
                if done is not None:
                    yield done


def maintain_regularly(tables: str, options: MaintainOptions, *, stop: Event, every_seconds: float = EVERY_S) -> None:
    """Maintain until ``stop``, in a thread: all tables once an hour; every ten minutes tables of current state, whose
    files are replaced all the time, and the small files and the logs of the others.
    """

    def maintain_round(is_hourly: bool) -> Iterator[Maintained]:
        yield from maintain(tables, options, only=WRITTEN_HERE if is_hourly else CURRENT)
        if not is_hourly:
            yield from maintain(tables, options, only=_HISTORIES, in_full=False)

    keep_maintaining(maintain_round, tables, stop=stop, every_seconds=every_seconds)


class _DeltalakeUpkeep:
    def __init__(self, tables: str, table: Table, work: Round) -> None:
        self._tables, self._table = tables, table
        self._path = delta_uri(f"{tables}/{table.name}")
        self._gone_until = work.now - timedelta(days=GONE_DAYS)
        self._forget_after_ms = work.options.forget_after_ms + FORGOTTEN_MS

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
        if self._table is QUEUE_ASSIGNMENTS:
            kept = without(kept, self._of_forgotten_groups(kept))
        if kept.num_rows < rows.num_rows:
            overwrite(opened, kept)
        return rows.num_rows - kept.num_rows

    def _of_forgotten_groups(self, rows: pa.Table) -> pa.ChunkedArray:
        """The numbers of queues of groups whose state the job has dropped: these queues are present for ever.

        A group without members tells nothing of its queues once it has no more rounds.
        """
        of = QueryBuilder()
        for name, table in _QUERIED.items():
            of.register(name, DeltaTable(delta_uri(f"{self._tables}/{table.name}")))
        found = pa.table(of.execute(_FORGOTTEN.format(self._forget_after_ms)))
        keys = ["cluster", "consumer_group"]
        forgotten = found.cast(pa.schema([(key, pa.string()) for key in keys]))
        return numbered(rows, keys, "row").join(forgotten, keys, join_type="inner", use_threads=False)["row"]

    def compact(self, before: str | None) -> tuple[int, int]:
        closed = None if before is None else [("date", "<", before)]
        metrics = self._open().optimize.compact(partition_filters=closed, max_concurrent_tasks=1)
        return metrics["numFilesRemoved"], metrics["numFilesAdded"]

    def join_small(self) -> tuple[int, int]:
        """Files of ``JOINED_BYTES`` stay as they are, so that a round does not write all of the day again."""
        opened = self._open()
        files = pa.table(opened.get_add_actions(flatten=True)).select(["partition.date", "size_bytes"]).to_pylist()
        small = Counter(str(file["partition.date"]) for file in files if file["size_bytes"] < JOINED_BYTES)
        days = [day for day, number in small.items() if number >= LEAST_JOINED]
        if not days:
            return 0, 0
        metrics = opened.optimize.compact([("date", "in", days)], target_size=JOINED_BYTES, max_concurrent_tasks=1)
        return metrics["numFilesRemoved"], metrics["numFilesAdded"]

    def vacuum(self) -> None:
        self._open().vacuum(dry_run=False, full=True)

    def checkpoint(self) -> None:
        self._open().create_checkpoint()

    def _open(self) -> DeltaTable:
        return DeltaTable(self._path)


def drop_superseded(opened: DeltaTable, table: Table, day: str) -> int:
    """Drop the rows of ``day`` that are no longer valid, or have a newer row of the same key. Return their number."""
    keys, (column, ended) = list(table.keep_newest_of), table.unless
    rows = opened.to_pyarrow_table(filters=[("date", "=", date.fromisoformat(day))])
    pairs = numbered(rows, keys, "row", "seq").join(_newest(opened, table), keys, join_type="inner", use_threads=False)
    is_ended = pc.equal(rows[column].take(pairs["row"]), ended)
    over = pairs.filter(pc.or_(pc.less(pairs["seq"], pairs["newest_seq"]), is_ended))["row"]
    if len(over) == rows.num_rows:
        opened.delete(f"date = '{day}'")
    elif len(over):
        kept = without(rows.cast(pa.schema(opened.schema().to_arrow())), over)
        write_deltalake(opened, unsliced(kept), mode="overwrite", predicate=f"date = '{day}'")
    return len(over)


def _newest(opened: DeltaTable, table: Table) -> pa.Table:
    keys = ", ".join(table.keep_newest_of)
    sql = f"SELECT {keys}, max(seq) AS newest_seq FROM rows GROUP BY {keys}"
    found = pa.table(QueryBuilder().register("rows", opened).execute(sql))
    return found.cast(pa.schema([*((key, pa.string()) for key in table.keep_newest_of), ("newest_seq", pa.int64())]))
