"""The status of each group by the running job, from its table."""

from threading import Event, Thread
from types import TracebackType

from streaming.tables.query import selection_of

EVERY_S = 3


class GroupStatuses:
    """The newest status of each group, read every few seconds during a ``with`` block."""

    def __init__(self, tables: str) -> None:
        self._tables = tables
        self._newest: dict[tuple[str, str], str] = {}
        self._over = Event()
        self._thread = Thread(target=self._run, name="group statuses", daemon=True)

    def of(self, cluster: str, group: str) -> str:
        return self._newest.get((cluster, group), "")

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self._read()

    def _read(self) -> None:
        table = selection_of(self._tables, "group_status")
        if table is None:
            return
        rows = table.rows(["cluster", "consumer_group", "status"], then='ORDER BY "seq"').to_pylist()
        self._newest = {(row["cluster"], row["consumer_group"]): row["status"] for row in rows}

    def __enter__(self) -> "GroupStatuses":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
