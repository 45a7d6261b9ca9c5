"""A reader of new facts from the table's commits, without a JVM; from a snapshot if the log lacks commits."""

import logging
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import islice
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from schemas.facts import AlertFact, Fact, GroupFact, HealthFact, Payload
from schemas.tables import FACTS
from streaming.newest_facts import newest_facts
from streaming.tables.facts_log import FactsLog
from streaming.tables.version import require_known_tables

log = logging.getLogger(__name__)

FACT_KINDS: tuple[type[Payload], ...] = (AlertFact, HealthFact, GroupFact)
MAX_COMMITS = 500  # read in one call
LOOK_EVERY_POLLS = 30  # polls without a commit, after which the table is checked: another may have replaced it
RECENT_DAYS = 1  # older facts of health and groups are not read: there are many, and newer ones follow


class FactsFollower:
    """A reader of new facts in the folder ``tables``.

    ``version``: the last commit it has read, None: none; ``table_id``: of the table it reads.
    ``besides``: further kinds of facts, which are read from commits only.
    """

    def __init__(
        self,
        tables: str,
        table_id: str | None = None,
        version: int | None = None,
        besides: tuple[type[Payload], ...] = (),
    ) -> None:
        self.table_id = table_id
        self.version = version
        self._kinds = (*FACT_KINDS, *besides)
        self._tables = tables
        self._log = FactsLog(f"{tables}/{FACTS.name}")
        self._is_open = False
        self._polls = 0

    def read(self) -> list[Fact]:
        """New facts of alerts, health and groups, oldest commit first; from a snapshot only the newest of each, and of
        groups only those whose events are refused.

        Empty while there is no table. Raises the errors of deltalake and pyarrow, and CheckpointError for tables of a
        newer evenkeel; then nothing counts as read.
        """
        if not self._is_open:
            facts = self._check_table() if self._log.exists() else None
            self._is_open = facts is not None
            return facts or []
        facts = self._read_commits()
        self._polls = 0 if facts else self._polls + 1
        if self._polls >= LOOK_EVERY_POLLS:
            self._polls = 0
            facts += self._check_table()
        return facts

    def _check_table(self) -> list[Fact]:
        """Check, at the start and at intervals, if another table replaced it, or its log has lost the next commit."""
        require_known_tables(self._tables)
        table = self._log.table()
        version, table_id = table.version(), str(table.metadata().id)
        is_same = self.table_id == table_id and self.version is not None and self.version <= version
        if is_same and (self.version == version or (self.version is not None and self._log.has(self.version + 1))):
            return self._read_commits()
        if not is_same and self.table_id is not None:
            log.warning("%s is another table than before: what stood in that is over", self._log.path)
        facts = newest_facts(self._snapshot(table))
        self.table_id, self.version = table_id, version
        return [one for one in facts if not isinstance(one.payload, GroupFact) or one.payload.refused_since is not None]

    def _read_commits(self) -> list[Fact]:
        if self.version is None:
            return []
        commits = list(islice(self._log.commits(self.version + 1, self._kinds), MAX_COMMITS))
        if commits:
            require_known_tables(self._tables)  # a newer evenkeel writes its version before its first facts
        self.version += len(commits)
        return [fact for commit in commits for fact in commit]

    def _snapshot(self, table: DeltaTable) -> Iterator[Fact]:
        """The facts of a snapshot. Files that cannot contain wanted facts are skipped."""
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        days = [day for action in actions if (day := str(action.get("partition.date") or ""))]
        newest = max(days, default="1970-01-01")
        recent = str(date.fromisoformat(newest) - timedelta(days=RECENT_DAYS))
        for action in actions:
            is_recent = str(action.get("partition.date") or newest) >= recent
            kinds = FACT_KINDS if is_recent else (AlertFact,)
            if any(_may_hold(action, kind.fact) for kind in kinds):
                yield from self._log.facts(unquote(action["path"]), self._kinds)


def _may_hold(action: dict[str, Any], kind: str) -> bool:
    """True if the file may contain this kind of fact, by the smallest and largest kind that the log has for it."""
    least, most = action.get("min.fact"), action.get("max.fact")
    return least is None or most is None or least <= kind <= most
