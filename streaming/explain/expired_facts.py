"""Facts that are deleted but still valid: the newest rows of the tables that keep them, read as facts.

A queue that has not changed for longer than facts are kept is in ``queue_assignments`` alone.
"""

from collections.abc import Iterable, Iterator

from schemas.facts import Fact
from schemas.table_definition import Table
from schemas.tables import ALERTS, GROUP_MEMBERS, GROUP_STATUS, QUEUE_ASSIGNMENTS
from streaming.tables.fact_rows import facts_in
from streaming.tables.query import is_of_day_from, is_told_by, quoted, selection_of, text

KEPT_LONGER = (QUEUE_ASSIGNMENTS, GROUP_MEMBERS, ALERTS, GROUP_STATUS)


def read_expired(
    tables: str,
    group: str,
    cluster: str | None,
    until: int | None,
    since: int | None = None,
    these: Iterable[Table] = KEPT_LONGER,
) -> list[Fact]:
    """Facts of the group in their order, as far as these tables have them; none without such tables.

    ``since``: rows of earlier days are left out of the tables that have days.
    """
    wanted = _of_group(group, cluster)
    facts = [
        fact for table in these for fact in read_table(table, tables, f"{wanted} AND {_within(table, since, until)}")
    ]
    return sorted(facts, key=lambda fact: (fact.cluster, fact.seq))


def read_groups(tables: str) -> set[tuple[str, str]]:
    """(cluster, group) of every group whose status is known."""
    known = selection_of(tables, GROUP_STATUS.name)
    rows = known.distinct(["cluster", "consumer_group"]).to_pylist() if known else []
    return {(row["cluster"], row["consumer_group"]) for row in rows}


def _of_group(group: str, cluster: str | None) -> str:
    wanted = f"{quoted('consumer_group')} = {text(group)}"
    return wanted if cluster is None else f"{wanted} AND {quoted('cluster')} = {text(cluster)}"


def _within(table: Table, since: int | None, until: int | None) -> str:
    by_day = "date" in table.partitioned_by
    told = is_told_by(until, by_day=by_day)
    return f"{is_of_day_from(since)} AND {told}" if by_day and since is not None else told


def read_table(table: Table, tables: str, wanted: str) -> Iterator[Fact]:
    """The rows that meet the condition ``wanted``, as facts, in no order."""
    known = selection_of(tables, table.name)
    return facts_in(table, known.rows(table.columns, wanted)) if known else iter(())
