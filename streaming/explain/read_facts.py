"""Reads the facts of one group, without a JVM and without reading whole tables.

They are in the facts table, and in other tables as far as they still hold though their fact has expired.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC
from difflib import get_close_matches

import pyarrow as pa
from deltalake.exceptions import DeltaError

from schemas.facts import Fact, HealthFact, payload_column
from schemas.table_definition import Table
from schemas.tables import ALERTS, FACTS, GROUP_MEMBERS, GROUP_STATUS, QUEUE_ASSIGNMENTS
from streaming.errors import SourceError
from streaming.explain.snapshot import MonitorStatus, monitor_status
from streaming.explain.snapshot_from_facts import KINDS
from streaming.newest_facts import health_after
from streaming.tables.fact_rows import KEY_COLUMNS, facts_in, facts_of
from streaming.tables.query import Selection, is_of_day_from, is_one_of, is_told_by, quoted, selection_of, text
from streaming.tables.version import require_known_tables
from streaming.wording.lists import first_of
from streaming.wording.names import plain

MOST_NAMES = 10
KEPT_LONGER = (QUEUE_ASSIGNMENTS, GROUP_MEMBERS, ALERTS, GROUP_STATUS)  # than facts


def read_group(tables: str, group: str, cluster: str | None, until: int | None) -> list[Fact]:
    """The group's facts in their order, at least one. Before them come deleted facts that are still valid.

    ``until``: epoch milliseconds, inclusive. Without ``cluster``, only one may have a group of this name. Raises
    SourceError if there is no table or group, or no fact of it that is as old, and CheckpointError for tables of a
    newer evenkeel.
    """
    log = _open(tables)
    wanted = _of_group("group", group, cluster)
    columns = ["identity", *KEY_COLUMNS, *map(payload_column, KINDS)]
    facts = _in_order(log.rows(columns, f"{wanted} AND {_of_interest(until)}"))
    if not facts or facts[0].seq > 0:
        before = read_expired(tables, group, cluster, until)
        facts = [*(fact for fact in before if not facts or fact.seq < facts[0].seq), *facts]
    clusters = sorted({fact.cluster for fact in facts})
    if not clusters:
        raise SourceError(_why_none(tables, log, wanted, group, cluster, until))
    if len(clusters) > 1:
        raise SourceError(f"group {group} is in several clusters: name one with --cluster: {_listed(clusters)}")
    return facts


def read_expired(
    tables: str,
    group: str,
    cluster: str | None,
    until: int | None,
    since: int | None = None,
    these: Iterable[Table] = KEPT_LONGER,
) -> list[Fact]:
    """Facts that are deleted but still valid: the newest rows of these tables, in the order of the facts.

    A queue that has not changed for longer than facts are kept is in ``queue_assignments`` alone.
    ``since``: rows of earlier days are left out of the tables that have days.
    """
    wanted = _of_group("consumer_group", group, cluster)
    facts = [
        fact for table in these for fact in read_table(table, tables, f"{wanted} AND {_within(table, since, until)}")
    ]
    return sorted(facts, key=lambda fact: (fact.cluster, fact.seq))


def read_groups(tables: str) -> set[tuple[str, str]]:
    """(cluster, group) of every group whose status is known."""
    known = selection_of(tables, GROUP_STATUS.name)
    rows = known.distinct(["cluster", "consumer_group"]).to_pylist() if known else []
    return {(row["cluster"], row["consumer_group"]) for row in rows}


def _within(table: Table, since: int | None, until: int | None) -> str:
    by_day = "date" in table.partitioned_by
    told = is_told_by(until, by_day=by_day)
    return f"{is_of_day_from(since)} AND {told}" if by_day and since is not None else told


def read_table(table: Table, tables: str, wanted: str) -> Iterator[Fact]:
    """The rows that meet the condition ``wanted``, as facts, in no order."""
    known = selection_of(tables, table.name)
    return facts_in(table, known.rows([one.name for one in table.columns], wanted)) if known else iter(())


def read_monitor(tables: str, cluster: str, until: int | None) -> MonitorStatus | None:
    """The health of evenkeel; None if no fact has it (a replay has none)."""
    wanted = f"{is_one_of('fact', [HealthFact.fact])} AND {is_one_of('cluster', [cluster])}"
    wanted += f" AND {is_told_by(until, by_day=True)}"
    log, columns = _open(tables), [*KEY_COLUMNS, payload_column(HealthFact)]
    newest = next(facts_of(log.rows(columns, wanted, "ORDER BY ts DESC, seq DESC LIMIT 1")), None)
    if newest is None:
        return None
    health = newest.payload
    assert isinstance(health, HealthFact)
    return monitor_status(health_after(None, newest, health))


def _open(tables: str) -> Selection:
    require_known_tables(tables)
    path = f"{tables}/{FACTS.name}"
    try:
        log = Selection(path)
    except (DeltaError, OSError) as error:
        why = str(error).splitlines()[0]
        raise SourceError(
            f"{path}: no facts table can be read there: name the folder of the tables with --tables, or the job's "
            f"configuration with --config ({why})"
        ) from error
    missing = [name for name in KEY_COLUMNS if name not in log.columns]
    if missing:
        raise SourceError(f"{path}: its files cannot be read: No match for the column {missing[0]}: these are no facts")
    return log


def _of_group(column: str, group: str, cluster: str | None) -> str:
    wanted = f"{quoted(column)} = {text(group)}"
    return wanted if cluster is None else f"{wanted} AND {quoted('cluster')} = {text(cluster)}"


def _of_interest(until: int | None) -> str:
    return f"{is_one_of('fact', [kind.fact for kind in KINDS])} AND {is_told_by(until, by_day=True)}"


def _in_order(rows: pa.Table) -> list[Fact]:
    """The facts by ``seq``, which a reseed continues. A new checkpoint starts at 0 and drops older facts."""
    by_identity: dict[str, list[Fact]] = {}
    for identity, fact in zip(rows["identity"].to_pylist(), facts_of(rows), strict=True):
        by_identity.setdefault(identity, []).append(fact)
    found: list[Fact] = []
    for facts in sorted(by_identity.values(), key=lambda facts: max(fact.ts for fact in facts)):
        facts.sort(key=lambda fact: fact.seq)
        found = facts if facts[0].seq == 0 else [*found, *facts]
    return found


def _why_none(tables: str, log: Selection, wanted: str, group: str, cluster: str | None, until: int | None) -> str:
    """The error's text, with what there is instead: a later time, another cluster, a similar name."""
    if until is not None:
        first = log.rows(["ts"], f"{wanted} AND {_of_interest(None)}", "ORDER BY ts LIMIT 1")["ts"]
        if len(first):
            oldest = first[0].as_py().replace(tzinfo=UTC)
            return f"nothing was known of group {group} by then: its first fact is of {oldest:%Y-%m-%d %H:%M:%S} UTC"
    rows = log.distinct(["cluster", "group"]).to_pylist()
    known = {(row["cluster"], row["group"]) for row in rows} | read_groups(tables)
    elsewhere = sorted({one for one, name in known if name == group})
    if elsewhere:
        return f"group {group} is not in cluster {cluster}, but in {_listed(elsewhere)}"
    groups = {name for _, name in known if name}
    near = _near(group, groups)
    hint = f"did you mean {_listed(near)}?" if near else f"it knows {len(groups)}: {_listed(sorted(groups))}"
    return f"the facts know no group {group}; {hint}" if groups else "the facts table has no group yet"


def _near(group: str, groups: Iterable[str]) -> list[str]:
    """Names that are similar to ``group``, or contain it."""
    asked = group.lower()
    by_lower = {name.lower(): name for name in groups}
    holding = sorted(name for lower, name in by_lower.items() if asked in lower or lower in asked)
    alike = [by_lower[lower] for lower in get_close_matches(asked, by_lower, n=5, cutoff=0.6)]
    return list(dict.fromkeys([*alike, *holding]))


def _listed(names: list[str]) -> str:
    return first_of([plain(name) for name in names], MOST_NAMES)
