"""The table ``notifications``: the outcome of each page at each sink. A thread of its own writes it.

Rows are collected in a file for some seconds, then appended in one commit with the file's name. So a killed notifier
loses no row, and the next one appends none twice.
"""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock
from typing import NamedTuple
from uuid import uuid4

import msgspec
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from msgspec.structs import asdict

from schemas.tables import NOTIFICATIONS, NotificationRow
from streaming import private_files
from streaming.notices.notice import Notice, Text
from streaming.secret_mask import masked
from streaming.tables.arrow_types import arrow_schema, without_comments
from streaming.tables.creation import create_table
from streaming.tables.damaged_commits import say_mended, set_damaged_aside
from streaming.tables.storage import delta_uri
from streaming.tables.version import require_known_tables
from streaming.wall_clock import now_ms

log = logging.getLogger(__name__)

GATHER_S = 2.0
MAX_WAITING_ROWS = 10_000
BATCH = "evenkeel.batch"  # in a commit's info
COMMITS_READ = 50  # maintenance may have committed after it
_SCHEMA = without_comments(arrow_schema(NOTIFICATIONS))


class Delivery(NamedTuple):
    """The result of sending a notice. ``outcome``: delivered, failed or missed; ``ts``: epoch ms."""

    sink: str
    outcome: str
    detail: str | None
    notice: Notice
    text: Text
    ts: int


class _Batch:
    """The rows of one commit, in memory and, if the disk can be written, in a file."""

    def __init__(self, path: Path, rows: Iterable[NotificationRow] = ()) -> None:
        self.path = path
        self.rows = list(rows)

    def add(self, row: NotificationRow) -> None:
        self.rows.append(row)
        try:
            private_files.make_folder(self.path.parent)
            with private_files.appended(self.path) as file:
                file.write(msgspec.json.encode(row) + b"\n")
        except OSError as error:
            log.warning("a row of %s is in memory only: %s", NOTIFICATIONS.name, error)

    def delete_file(self) -> None:
        self.path.unlink(missing_ok=True)


class NotificationsTable:
    """A writer that collects rows for some seconds and appends them in one commit. ``folder``: has the waiting rows."""

    def __init__(self, tables: str, folder: Path) -> None:
        self._tables = tables
        self._path = delta_uri(f"{tables}/{NOTIFICATIONS.name}")
        self._folder = folder
        self._lock = Lock()
        self._left = [_Batch(path, _rows(path)) for path in _files(folder)]  # from a notifier that was killed
        self._has_begun = False
        self._waiting: list[_Batch] = []
        self._batch = self._new_batch()

    def _new_batch(self) -> _Batch:
        return _Batch(self._folder / f"{uuid4().hex}.jsonl")

    def add(self, delivery: Delivery) -> None:
        with self._lock:
            self._batch.add(_row(delivery))

    def run(self, stop: Event) -> None:
        """Write rows until ``stop``, and then once more."""
        while not stop.wait(GATHER_S):
            self.write()
        self.write()

    def write(self) -> None:
        """Write the rows. Those that cannot be written wait for the next call; above a limit the oldest are dropped."""
        with self._lock:
            if self._batch.rows:
                self._waiting.append(self._batch)
                self._batch = self._new_batch()
        try:
            if not self._has_begun:
                self._begin()
            while self._waiting:
                self._append(self._waiting[0])
                self._waiting.pop(0).delete_file()
        except Exception as error:
            while len(self._waiting) > 1 and sum(len(batch.rows) for batch in self._waiting) > MAX_WAITING_ROWS:
                self._waiting.pop(0).delete_file()
            waiting = sum(len(batch.rows) for batch in self._waiting)
            log.warning("%d rows of %s wait: %s", waiting, NOTIFICATIONS.name, str(error).split("\n", 1)[0])

    def _begin(self) -> None:
        """Mend the table, and queue rows of an earlier process, unless it had committed them and not yet deleted their
        file.
        """
        say_mended(self._path, set_damaged_aside(self._path, now_ms()))
        committed: set[str] = set()
        if self._left and DeltaTable.is_deltatable(self._path):
            history = DeltaTable(self._path).history(COMMITS_READ)
            committed = {str(commit.get(BATCH)) for commit in history}
        for batch in self._left:
            if batch.rows and batch.path.stem not in committed:
                self._waiting.append(batch)
            else:
                batch.delete_file()
        self._left, self._has_begun = [], True

    def _append(self, batch: _Batch) -> None:
        """Append rows. The table's columns are updated first: an older evenkeel may have created it at any time.

        A newer one may have taken the tables meanwhile. Then the rows wait for a notifier that knows them.
        """
        require_known_tables(self._tables)
        create_table(self._path, NOTIFICATIONS)
        write_deltalake(
            self._path,
            pa.Table.from_pylist([asdict(row) for row in batch.rows], _SCHEMA),
            mode="append",
            commit_properties=CommitProperties(custom_metadata={BATCH: batch.path.stem}),
        )


def _files(folder: Path) -> list[Path]:
    try:
        return private_files.listed(folder, ".jsonl")
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("%s cannot be read, and its rows of %s are lost: %s", folder, NOTIFICATIONS.name, error)
        return []


def _rows(path: Path) -> list[NotificationRow]:
    """The complete rows of a file: the last one may be cut off."""
    rows: list[NotificationRow] = []
    try:
        lines = private_files.read(path).splitlines()
    except OSError as error:
        log.warning("%s cannot be read, and its rows of %s are lost: %s", path, NOTIFICATIONS.name, error)
        return rows
    for line in lines:
        try:
            rows.append(msgspec.json.decode(line, type=NotificationRow))
        except msgspec.MsgspecError:
            log.warning("a row of %s in %s is not whole and is lost", NOTIFICATIONS.name, path)
    return rows


def _row(delivery: Delivery) -> NotificationRow:
    notice, when = delivery.notice, _time(delivery.ts)
    return NotificationRow(
        cluster=notice.cluster,
        key=notice.key,
        sink=delivery.sink,
        outcome=delivery.outcome,
        detail=delivery.detail and masked(delivery.detail),
        status=notice.status,
        severity=notice.severity.value,
        trouble=notice.trouble.kind if notice.trouble else None,
        consumer_groups=list(notice.groups),
        fingerprints=[alert.fact.fingerprint for alert in notice.alerts],
        since_time=_time(notice.since_ts),
        title=masked(delivery.text.title),
        ts=when,
        date=when.date(),
    )


def _time(ts: int) -> datetime:
    return datetime.fromtimestamp(ts / 1000, UTC)
