"""What maintenance does to a table, in which order, and to which days: the same for every writer.

Days are compacted, rows past their retention dropped, replaced files deleted, and the table's log kept short: every
commit lists the whole log. What a table is like is read without a JVM; its one writer changes it (``Upkeep``).
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import count
from threading import Event
from typing import Protocol

import pyarrow as pa
from deltalake import DeltaTable

from schemas.table_definition import Table
from streaming.config.sections import Config
from streaming.core.retention import FORGET_AFTER_MS
from streaming.tables.conflicts import retried
from streaming.tables.damaged_commits import damaged_commits, named
from streaming.tables.log_files import LogFiles
from streaming.tables.storage import delta_uri

log = logging.getLogger(__name__)

FIRST_ROUND_AFTER_S = 300  # a job that has just been started has other things to do
ROUNDS_AN_HOUR = 6
EVERY_S = 3600 / ROUNDS_AN_HOUR
WRITES = ("WRITE", "MERGE", "STREAMING UPDATE")  # the last is Spark's
COMMITS_READ = 20


@dataclass(frozen=True)
class MaintainOptions:
    """``keep_days``: by table, 0 is for ever; what it doesn't name is kept as ``schemas.tables`` says.

    ``log_hours``: how much of a table's log is kept, of ``facts`` once the projections have read it.
    ``files_a_day``: so many files in days that are not over yet are compacted without waiting for the day's end.
    ``forget_after_ms``: so long the job keeps the state of a silent group.
    """

    keep_days: Mapping[str, int] = field(default_factory=dict)
    log_hours: float = 1
    files_a_day: int = 200
    forget_after_ms: int = FORGET_AFTER_MS

    def days_kept(self, table: Table) -> int:
        return self.keep_days.get(table.name, table.keep_days)

    @property
    def log_kept(self) -> timedelta:
        return timedelta(hours=self.log_hours)


def maintain_options(config: Config) -> MaintainOptions:
    keep_days, timing = config.tables.retention_days.model_dump(), config.settings().timing
    return MaintainOptions(keep_days=keep_days, forget_after_ms=timing.forget_after_ms)


@dataclass
class Maintained:
    """What was done to one table."""

    table: str
    rows_dropped: int = 0
    files_before: int = 0
    files_after: int = 0
    log_files_deleted: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{self.rows_dropped} rows dropped", f"{self.files_before} files compacted into {self.files_after}"]
        parts += [f"{self.log_files_deleted} log files deleted", *self.notes]
        return f"{self.table}: {', '.join(parts)}"


def keep_maintaining(
    maintain: Callable[[bool], Iterable[Maintained]], tables: str, *, stop: Event, every_seconds: float
) -> None:
    """Maintain until ``stop``, for a thread. ``maintain`` gets whether it is the round that comes once an hour.

    Errors are logged, and the work is tried again in the next round.
    """
    wait = min(every_seconds, FIRST_ROUND_AFTER_S)
    for number in count():
        if stop.wait(wait):
            return
        wait = every_seconds
        try:
            for done in maintain(number % ROUNDS_AN_HOUR == 0):
                log.info("maintained %s", done)
                if stop.is_set():
                    return
        except Exception:
            log.exception("maintenance of %s failed; it is tried again in %.0f s", tables, every_seconds)


Join = Callable[[], tuple[int, int]]  # joins the small files of each day, if there are many: how many they were and are


class Upkeep(Protocol):
    """The changes that maintenance makes to a table, by the table's one writer."""

    def drop_expired(self, days: list[str]) -> int:
        """Drops what has expired; how many rows. ``days``: those of partitions that have."""

    def compact(self, before: str | None) -> tuple[int, int]:
        """Joins the files of each day before this one, or of all days; how many files they were and are."""

    def vacuum(self) -> None:
        """Deletes files that were replaced, as old as the table's own property says."""

    def checkpoint(self) -> None:
        """Writes a checkpoint of the newest version into the log."""


@dataclass(frozen=True)
class Round:
    """One round over the tables of a folder. ``now`` decides which days are over and which rows too old.

    A table with damaged commits stays as it is: what they had is read again from where the commits before them say.
    """

    tables: str
    options: MaintainOptions
    now: datetime

    def maintain(self, table: Table, upkeep: Upkeep, *, unread: str | None = None) -> Maintained:
        """``unread``: the reason why replaced files and the log must be kept."""
        done = Maintained(table.name)
        damaged = self._damaged(table)
        if damaged:
            done.notes.append(
                f"left as it is: {named(damaged)} damaged by a failure of the machine. Start 'evenkeel run': it mends "
                "the table, or says what to do"
            )
            return done
        last_write = self._last_write(table)
        steps = [self._drop_expired, self._compact]
        if unread is None:
            steps += [self._vacuum, partial(self._shorten_log, last_write)]
        else:
            done.notes.append(f"replaced files and log kept: {unread}")
        for step in steps:
            retried(partial(step, table, upkeep, done))
        return done

    def keep_short(
        self, table: Table, upkeep: Upkeep, *, join: Join | None = None, unread: str | None = None
    ) -> Maintained | None:
        """What cannot wait for an hour: each commit lists the whole log, and each query opens all small files.

        None: there was nothing to do. ``unread`` as for ``maintain``.
        """
        done = Maintained(table.name)
        if self._damaged(table):
            return None
        if join is not None and table.partitioned_by:
            done.files_before, done.files_after = retried(join)
        if unread is None:
            retried(partial(self._shorten_log, self._last_write(table), table, upkeep, done))
        return done if done.files_before or done.log_files_deleted else None

    def _drop_expired(self, table: Table, upkeep: Upkeep, done: Maintained) -> None:
        kept = self.options.days_kept(table)
        first_kept = str(self._today - timedelta(days=kept)) if kept else ""
        done.rows_dropped += upkeep.drop_expired(sorted({day for day in self._days(table) if day < first_kept}))

    def _compact(self, table: Table, upkeep: Upkeep, done: Maintained) -> None:
        """Only tables by day: the others are one file, and must not be compacted (``overwrite``)."""
        if table.partitioned_by:
            today = str(self._today)
            is_open = sum(day >= today for day in self._days(table)) < self.options.files_a_day
            before, after = upkeep.compact(today if is_open else None)
            done.files_before += before
            done.files_after += after

    def _vacuum(self, table: Table, upkeep: Upkeep, done: Maintained) -> None:
        """Appends alone replace no file; current tables are replaced all the time."""
        if table.merge_keys or done.rows_dropped or done.files_before:
            upkeep.vacuum()

    def _shorten_log(self, last_write: datetime | None, table: Table, upkeep: Upkeep, done: Maintained) -> None:
        """Delete what a checkpoint sums up that is itself older than ``log_kept``. So every version since then can be
        read, also by who opened the table before the next checkpoint came. That is written for later rounds.

        The newest write stays whatever its age: its commit says what was read or written.
        """
        if last_write is not None:
            log_files = LogFiles(f"{self.tables}/{table.name}")
            summed_up = log_files.newest_checkpoint(before=last_write - self.options.log_kept)
            done.log_files_deleted += log_files.delete_before(summed_up)
            if log_files.newest_checkpoint() < log_files.newest_version():
                upkeep.checkpoint()

    def _last_write(self, table: Table) -> datetime | None:
        """When something other than maintenance last changed the table."""
        history = self._open(table).history(COMMITS_READ)
        times = [commit["timestamp"] for commit in history if commit.get("operation") in WRITES]
        return datetime.fromtimestamp(max(times) / 1000, UTC) if times else None

    def _days(self, table: Table) -> list[str]:
        """The day of each file of a table by day."""
        if not table.partitioned_by:
            return []
        files = pa.table(self._open(table).get_add_actions(flatten=True))
        return list(map(str, files["partition.date"].to_pylist())) if files.num_rows else []

    @property
    def _today(self) -> date:
        return self.now.astimezone(UTC).date()

    def _damaged(self, table: Table) -> list[int]:
        return damaged_commits(f"{self.tables}/{table.name}")

    def _open(self, table: Table) -> DeltaTable:
        return DeltaTable(delta_uri(f"{self.tables}/{table.name}"))
