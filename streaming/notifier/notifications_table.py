"""What became of pages, as rows of the table ``notifications``: written beside the deliveries, never in their way.

Rows gather for some seconds in a file, and are appended in one commit that carries the file's name. So a notifier that
is killed loses none, and the next one appends none twice.
"""

import logging
from collections.abc import Iterable
from datetime import date, datetime, timezone
from pathlib import Path
from threading import Event, Lock
from typing import NamedTuple
from uuid import uuid4

import msgspec
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import ArrayType, PrimitiveType
from msgspec import Struct
from msgspec.structs import asdict

from schemas.history import NOTIFICATIONS
from schemas.table import Column
from streaming.notices import Notice, Text
from streaming.notifier.state_files import private_file

log = logging.getLogger(__name__)

GATHER_S = 2.0
MOST_WAITING = 10_000
BATCH = "evenkeel.batch"  # in a commit's info
COMMITS_LOOKED_AT = 50  # maintenance may have committed since
_TEXTS = "ARRAY<STRING>"
_DELTA = {"STRING": PrimitiveType("string"), "TIMESTAMP": PrimitiveType("timestamp"), "DATE": PrimitiveType("date")}
_ARROW = {
    "STRING": pa.string(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "DATE": pa.date32(),
    _TEXTS: pa.list_(pa.string()),
}
_SCHEMA = pa.schema([(column.name, _ARROW[column.type]) for column in NOTIFICATIONS.columns])


class Outcome(NamedTuple):
    """``outcome``: delivered, failed or missed; ``ts``: epoch ms."""

    sink: str
    outcome: str
    detail: str | None
    notice: Notice
    text: Text
    ts: int


class _Row(Struct):
    """A row of the table."""

    cluster: str
    key: str
    sink: str
    outcome: str
    detail: str | None
    status: str
    severity: str
    trouble: str | None
    consumer_groups: list[str]
    fingerprints: list[str]
    since: datetime
    title: str
    ts: datetime
    date: date


class _Batch:
    """Rows of one commit, in memory and, where the disk takes them, in a file."""

    def __init__(self, path: Path, rows: Iterable[_Row] = ()) -> None:
        self.path = path
        self.rows = list(rows)

    def add(self, row: _Row) -> None:
        self.rows.append(row)
        try:
            with private_file(self.path, append=True) as file:
                file.write(msgspec.json.encode(row) + b"\n")
        except OSError as error:
            log.warning("a row of %s is in memory only: %s", NOTIFICATIONS.name, error)

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


class Outcomes:
    """A thread's work: rows are gathered for some seconds and appended in one commit. ``folder``: of its files."""

    def __init__(self, tables: str, folder: Path) -> None:
        self._path = f"{tables.replace('s3a://', 's3://', 1)}/{NOTIFICATIONS.name}"
        self._folder = folder
        self._lock = Lock()
        self._left = [_Batch(path, _rows(path)) for path in sorted(folder.glob("*.jsonl"))]  # by one that was killed
        self._waiting: list[_Batch] = []
        self._batch = self._new_batch()

    def _new_batch(self) -> _Batch:
        return _Batch(self._folder / f"{uuid4().hex}.jsonl")

    def tell(self, outcome: Outcome) -> None:
        """Returns at once."""
        with self._lock:
            self._batch.add(_row(outcome))

    def run(self, stop: Event) -> None:
        """Until ``stop``; what is told after that is for a last ``write``."""
        while not stop.wait(GATHER_S):
            self.write()

    def write(self) -> None:
        """What cannot be written is kept for the next time, the newest of it."""
        with self._lock:
            if self._batch.rows:
                self._waiting.append(self._batch)
                self._batch = self._new_batch()
        try:
            self._take_over()
            while self._waiting:
                self._append(self._waiting[0])
                self._waiting.pop(0).forget()
        except Exception as error:
            self._drop_the_oldest()
            waiting = sum(len(batch.rows) for batch in self._waiting)
            log.warning("%d rows of %s wait: %s", waiting, NOTIFICATIONS.name, str(error).split("\n", 1)[0])

    def _take_over(self) -> None:
        """Rows that an earlier process left behind, unless it had committed them and not yet deleted their file."""
        if not self._left:
            return
        committed: set[str] = set()
        if DeltaTable.is_deltatable(self._path):
            history = DeltaTable(self._path).history(COMMITS_LOOKED_AT)
            committed = {str(commit.get(BATCH)) for commit in history}
        for batch in self._left:
            if batch.rows and batch.path.stem not in committed:
                self._waiting.append(batch)
            else:
                batch.forget()
        self._left = []

    def _append(self, batch: _Batch) -> None:
        self._create()
        rows = pa.Table.from_pylist([asdict(row) for row in batch.rows], _SCHEMA)
        properties = CommitProperties(custom_metadata={BATCH: batch.path.stem})
        write_deltalake(self._path, rows, mode="append", commit_properties=properties)

    def _drop_the_oldest(self) -> None:
        while len(self._waiting) > 1 and sum(len(batch.rows) for batch in self._waiting) > MOST_WAITING:
            self._waiting.pop(0).forget()

    def _create(self) -> None:
        if not DeltaTable.is_deltatable(self._path):
            DeltaTable.create(
                self._path,
                Schema(list(_fields(NOTIFICATIONS.columns))),
                mode="ignore",
                partition_by=list(NOTIFICATIONS.partitioned_by),
                name=NOTIFICATIONS.name,
                description=NOTIFICATIONS.comment,
                configuration=dict(NOTIFICATIONS.properties),
            )


def _fields(columns: Iterable[Column]) -> Iterable[Field]:
    for column in columns:
        kind = ArrayType(_DELTA["STRING"]) if column.type == _TEXTS else _DELTA[column.type]
        yield Field(column.name, kind, metadata={"comment": column.comment})


def _rows(path: Path) -> list[_Row]:
    """Those that are whole: the last one may have been cut off."""
    rows = []
    for line in path.read_bytes().splitlines():
        try:
            rows.append(msgspec.json.decode(line, type=_Row))
        except msgspec.DecodeError:
            log.warning("a row of %s in %s is not whole and is lost", NOTIFICATIONS.name, path)
    return rows


def _row(outcome: Outcome) -> _Row:
    notice = outcome.notice
    when = _time(outcome.ts)
    return _Row(
        cluster=notice.cluster,
        key=notice.key,
        sink=outcome.sink,
        outcome=outcome.outcome,
        detail=outcome.detail,
        status=notice.status,
        severity=notice.severity.value,
        trouble=notice.trouble.kind if notice.trouble else None,
        consumer_groups=list(notice.groups),
        fingerprints=[alert.fact.fingerprint for alert in notice.alerts],
        since=_time(notice.since_ts),
        title=outcome.text.title,
        ts=when,
        date=when.date(),
    )


def _time(ts: int) -> datetime:
    return datetime.fromtimestamp(ts / 1000, timezone.utc)
