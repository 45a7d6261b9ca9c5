"""What maintenance of the tables is asked to do, and what it says that it has done."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.table_definition import Table

FIRST_ROUND_AFTER_S = 300  # a job that has just been started has other things to do


@dataclass(frozen=True)
class MaintainOptions:
    """``keep_days``: by table, 0 is for ever; what it doesn't name is kept as ``schemas.tables`` says.

    ``tombstone_days``: how long members and queues that are gone stay in the current tables. ``log_hours``: how much of
    a table's log is kept once the projections have read it. ``files_a_day``: so many files in days that are not over
    yet are compacted without waiting for the day's end.
    """

    keep_days: Mapping[str, int] = field(default_factory=dict)
    tombstone_days: int = 7
    log_hours: int = 6
    files_a_day: int = 200

    def days_kept(self, table: Table) -> int:
        return self.keep_days.get(table.name, table.keep_days)


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
