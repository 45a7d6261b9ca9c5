"""Facts become rows of tables and are facts again: both ways are derived from the fields of the payloads."""

from collections.abc import Iterator, Mapping
from typing import Annotated

import pyarrow as pa
import pytest
from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from schemas.facts import AlertFact, GroupFact, HealthFact, MemberFact, MembershipFact, QueueFact, RebalanceFact
from schemas.table_definition import NO_COLUMN, AsColumn, Column, Form, Part, Table, columns_of
from schemas.tables import (
    ALERTS,
    GROUP_MEMBERS,
    GROUP_STATUS,
    MEMBERSHIP_CHANGES,
    MONITOR_HEALTH,
    QUEUE_ASSIGNMENTS,
    REBALANCES,
)
from streaming.projections.columns import rows_of
from streaming.tables.fact_rows import facts_in, facts_of
from testing.written import rows_of_facts
from tests.projections.golden_files import golden_facts

IN_TABLES = (ALERTS, GROUP_MEMBERS, GROUP_STATUS, MEMBERSHIP_CHANGES, MONITOR_HEALTH, QUEUE_ASSIGNMENTS, REBALANCES)
# What a table does not have of a fact.
LEFT_OUT = {
    QueueFact: {"ended"},
    AlertFact: set(),
    GroupFact: {"refused_since"},
    HealthFact: {"contradiction"},
    MemberFact: set(),
    MembershipFact: set(),
    RebalanceFact: set(),
}


def without(payload: object, names: set[str]) -> dict[str, object]:
    said = {name: value for name, value in to_builtins(payload).items() if name not in names}
    for queue in said.get("queues", ()) if isinstance(payload, AlertFact) else ():
        queue["reason"] = queue["reason_details"] = None
    return said


@pytest.mark.parametrize("table", IN_TABLES, ids=lambda table: table.name)
def test_a_row_is_the_fact_that_made_it(table: Table) -> None:
    (kind,) = table.kinds
    facts = [fact for fact in golden_facts() if isinstance(fact.payload, kind)]
    again = list(facts_in(table, rows_of(table, rows_of_facts(facts))))
    assert len(again) == len(facts) > 1
    for fact, found in zip(facts, again, strict=True):
        assert (found.cluster, found.ts) == (fact.cluster, fact.ts)
        assert without(found.payload, LEFT_OUT[kind]) == without(fact.payload, LEFT_OUT[kind])


def test_equal_texts_of_facts_are_one_object() -> None:
    facts = [fact for fact in golden_facts() if isinstance(fact.payload, AlertFact)]
    rows = rows_of_facts(facts)
    for read in (list(facts_of(rows)), list(facts_in(ALERTS, rows_of(ALERTS, rows)))):
        each = [text for one in read for text in texts_in((one.cluster, one.group, one.topic, one.payload))]
        assert len(each) > 2 * len(set(each))
        assert len(set(map(id, each))) == len(set(each))


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Struct):
        yield from texts_in(asdict(value))
    elif isinstance(value, Mapping):
        yield from texts_in(tuple(value.values()))
    elif isinstance(value, tuple):
        for one in value:
            yield from texts_in(one)


class Inner(Part, frozen=True):
    seen_ts: Annotated[int | None, "when it was seen"] = None
    hidden: Annotated[str, "not in tables", NO_COLUMN] = ""


class Outer(Part, frozen=True):
    name: Annotated[str, "its name", AsColumn("label")]
    began_ts: Annotated[int, "when it began"]
    inner: Annotated[tuple[Inner, ...], "parts of it"] = ()


def test_columns_are_derived_from_the_fields() -> None:
    name, began, inner = columns_of(Outer, "outer")
    assert name == Column("label", "STRING", "its name", "outer.name")
    assert began == Column("began_time", "TIMESTAMP", "when it began", "outer.began_ts", Form.TIME)
    assert (inner.type, inner.form) == ("ARRAY<STRUCT<seen_time:TIMESTAMP>>", Form.PARTS)
    assert inner.comment == "parts of it: seen_time (when it was seen)"


def test_a_field_that_an_older_table_lacks_is_empty() -> None:
    row = {"cluster": "c", "consumer_group": "g", "ts": None, "status": None}
    rows = pa.Table.from_pylist([row], pa.schema({name: pa.string() for name in row}))
    rows = rows.set_column(2, "ts", pa.array([0], pa.timestamp("us", "UTC")))
    (fact,) = facts_in(GROUP_STATUS, rows)
    assert isinstance(fact.payload, GroupFact)
    assert (fact.payload.status, fact.payload.counts, fact.payload.members, fact.payload.reason) == ("", {}, 0, None)
