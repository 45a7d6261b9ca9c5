"""The facts of one group out of the facts table, without a JVM and without reading the table whole."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from difflib import get_close_matches

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError

from schemas.ddl import payload_column
from schemas.facts import Fact, HealthFact
from schemas.tables import FACTS
from streaming.errors import SourceError
from streaming.explain.folding import KINDS
from streaming.explain.picture import Monitor
from streaming.explain.standing import read_groups, read_standing
from streaming.tables.dataset import damage_said, open_dataset
from streaming.tables.facts import KEY_COLUMNS
from streaming.tables.rows import facts_of
from streaming.wording.names import plain

NAMES_AT_MOST = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def read_group(tables: str, group: str, cluster: str | None, until: int | None) -> list[Fact]:
    """Its facts in their order, at least one, and before them what still holds of those that have expired.

    ``until``: epoch milliseconds, inclusive. Without ``cluster``, only one may have a group of this name.
    Raises SourceError where there is no table or group, or nothing of it that is as old.
    """
    log = _open(tables)
    with damage_said(f"{tables}/{FACTS.name}"):
        return _read_group(log, tables, group, cluster, until)


def _read_group(log: ds.Dataset, tables: str, group: str, cluster: str | None, until: int | None) -> list[Fact]:
    wanted = pc.field("group") == group
    if cluster is not None:
        wanted &= pc.field("cluster") == cluster
    facts = _in_order(
        log.to_table(["identity", *KEY_COLUMNS, *map(payload_column, KINDS)], wanted & _of_interest(until))
    )
    if not facts or facts[0].seq > 0:
        before = read_standing(tables, group, cluster, until)
        facts = [*(fact for fact in before if not facts or fact.seq < facts[0].seq), *facts]
    clusters = sorted({fact.cluster for fact in facts})
    if not clusters:
        raise SourceError(_why_none(tables, log, wanted, group, cluster, until))
    if len(clusters) > 1:
        raise SourceError(f"group {group} is in several clusters: name one with --cluster: {_listed(clusters)}")
    return facts


def read_monitor(tables: str, cluster: str, until: int | None) -> Monitor | None:
    """How evenkeel itself was doing; None where it has not said (a replay says nothing)."""
    wanted = (pc.field("fact") == HealthFact.fact) & (pc.field("cluster") == cluster) & _before(until)
    log = _open(tables)
    with damage_said(f"{tables}/{FACTS.name}"):
        rows = log.to_table([*KEY_COLUMNS, payload_column(HealthFact)], wanted)
    if not len(rows):
        return None
    newest = max(facts_of(rows.filter(pc.equal(rows["ts"], pc.max(rows["ts"])))), key=lambda fact: fact.seq)
    told = newest.payload
    assert isinstance(told, HealthFact)
    return Monitor(newest.ts, told.status, newest.ts - (told.lag_ms or 0))


def _open(tables: str) -> ds.Dataset:
    path = f"{tables}/{FACTS.name}"
    try:
        return open_dataset(path)
    except (DeltaError, OSError) as error:
        why = str(error).splitlines()[0]
        raise SourceError(
            f"{path}: no facts table can be read there: name the folder of the tables with --tables, or the job's "
            f"configuration with --config ({why})"
        ) from error


def _of_interest(until: int | None) -> pc.Expression:
    return pc.field("fact").isin([kind.fact for kind in KINDS]) & _before(until)


def _before(until: int | None) -> pc.Expression:
    """Days come first, since whole folders are left out by them."""
    if until is None:
        return pc.scalar(True)
    when = _EPOCH + timedelta(milliseconds=until)
    return (pc.field("date") <= pa.scalar(when.date())) & (pc.field("ts") <= pa.scalar(when))


def _in_order(rows: pa.Table) -> list[Fact]:
    """By number, which goes on with a reseed. A checkpoint that began from nothing begins at 0, and knows nothing."""
    by_identity: dict[str, list[Fact]] = {}
    for identity, fact in zip(rows["identity"].to_pylist(), facts_of(rows), strict=True):
        by_identity.setdefault(identity, []).append(fact)
    found: list[Fact] = []
    for facts in sorted(by_identity.values(), key=lambda facts: max(fact.ts for fact in facts)):
        facts.sort(key=lambda fact: fact.seq)
        found = facts if facts[0].seq == 0 else [*found, *facts]
    return found


def _why_none(
    tables: str, log: ds.Dataset, wanted: pc.Expression, group: str, cluster: str | None, until: int | None
) -> str:
    """What there is instead: an earlier time, another cluster, a similar name."""
    if until is not None:
        first = log.to_table(["ts"], wanted & _of_interest(None))["ts"]
        if len(first):
            oldest = pc.min(first).as_py()
            return f"nothing was known of group {group} by then: its first fact is of {oldest:%Y-%m-%d %H:%M:%S} UTC"
    told = log.to_table(["cluster", "group"]).group_by(["cluster", "group"]).aggregate([]).to_pylist()
    known = {(row["cluster"], row["group"]) for row in told} | read_groups(tables)
    elsewhere = sorted({one for one, name in known if name == group})
    if elsewhere:
        return f"group {group} is not in cluster {cluster}, but in {_listed(elsewhere)}"
    groups = {name for _, name in known if name}
    near = _near(group, groups)
    hint = f"did you mean {_listed(near)}?" if near else f"it knows {len(groups)}: {_listed(sorted(groups))}"
    return f"the facts know no group {group}; {hint}" if groups else "the facts table holds no group yet"


def _near(group: str, groups: Iterable[str]) -> list[str]:
    """Those that are written alike, or hold it."""
    asked = group.lower()
    by_lower = {name.lower(): name for name in groups}
    holding = sorted(name for lower, name in by_lower.items() if asked in lower or lower in asked)
    alike = [by_lower[lower] for lower in get_close_matches(asked, by_lower, n=5, cutoff=0.6)]
    return list(dict.fromkeys([*alike, *holding]))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_AT_MOST} more" if len(names) > NAMES_AT_MOST else ""
    return ", ".join(map(plain, names[:NAMES_AT_MOST])) + more
