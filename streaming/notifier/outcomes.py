"""What became of pages, as rows of the table ``notifications``: written beside the deliveries, never in their way."""

import logging
from collections.abc import Iterable
from datetime import datetime, timezone
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import ArrayType, PrimitiveType

from schemas.history import NOTIFICATIONS
from schemas.table import Column
from streaming.notices import Notice, Text

log = logging.getLogger(__name__)

GATHER_S = 2.0
MOST_WAITING = 10_000
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


class Outcomes:
    """A thread's work: rows are gathered for some seconds and appended in one commit."""

    def __init__(self, tables: str) -> None:
        self._path = f"{tables.replace('s3a://', 's3://', 1)}/{NOTIFICATIONS.name}"
        self._queue: SimpleQueue[Outcome] = SimpleQueue()
        self._waiting: list[Outcome] = []

    def tell(self, outcome: Outcome) -> None:
        """Returns at once."""
        self._queue.put(outcome)

    def run(self, stop: Event) -> None:
        """Until ``stop``; what is told after that is for a last ``write``."""
        while not stop.wait(GATHER_S):
            self.write()

    def write(self) -> None:
        """What cannot be written is kept for the next time, the newest of it."""
        try:
            while True:
                self._waiting.append(self._queue.get_nowait())
        except Empty:
            pass
        if not self._waiting:
            return
        try:
            self._create()
            write_deltalake(self._path, pa.Table.from_pylist(list(map(_row, self._waiting)), _SCHEMA), mode="append")
            self._waiting = []
        except Exception as error:
            self._waiting = self._waiting[-MOST_WAITING:]
            log.warning("%d rows of %s wait: %s", len(self._waiting), NOTIFICATIONS.name, str(error).split("\n", 1)[0])

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


def _row(outcome: Outcome) -> dict[str, Any]:
    notice = outcome.notice
    when = _time(outcome.ts)
    return {
        "cluster": notice.cluster,
        "key": notice.key,
        "sink": outcome.sink,
        "outcome": outcome.outcome,
        "detail": outcome.detail,
        "status": notice.status,
        "severity": notice.severity.value,
        "trouble": notice.trouble.kind if notice.trouble else None,
        "consumer_groups": list(notice.groups),
        "fingerprints": [alert.fact.fingerprint for alert in notice.alerts],
        "since": _time(notice.since_ts),
        "title": outcome.text.title,
        "ts": when,
        "date": when.date(),
    }


def _time(ts: int) -> datetime:
    return datetime.fromtimestamp(ts / 1000, timezone.utc)
