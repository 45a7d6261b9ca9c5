"""The same rows as Spark made of the same facts, in every table."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from schemas.facts import PAYLOADS
from schemas.tables import HISTORY, PROJECTIONS
from streaming.projections.columns import rows_of
from streaming.projections.projector import run_projections
from testing.written import commit, rows_of_facts
from tests.projections.golden_files import as_golden, golden_facts, golden_rows

FIRST_COMMIT = 133


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, facts = tmp_path_factory.mktemp("golden"), golden_facts()
    for part in (facts[:FIRST_COMMIT], facts[FIRST_COMMIT:]):
        commit(folder / "facts", part)
        run_projections(str(folder))
    return folder


def test_every_kind_of_fact_makes_rows_and_is_in_the_file() -> None:
    assert {kind for table in PROJECTIONS for kind in table.kinds} == set(PAYLOADS)
    assert {type(fact.payload) for fact in golden_facts()} == set(PAYLOADS)
    assert golden_rows().keys() == {table.name for table in PROJECTIONS}


@pytest.mark.parametrize("table", PROJECTIONS, ids=lambda table: table.name)
def test_tables_hold_what_spark_made_of_the_same_facts(table, tables: Path) -> None:
    rows = DeltaTable(str(tables / table.name)).to_pyarrow_table()
    assert as_golden(rows) == golden_rows()[table.name]


@pytest.mark.parametrize("table", HISTORY, ids=lambda table: table.name)
def test_columns_alone_make_the_same_rows(table) -> None:
    assert as_golden(rows_of(table, rows_of_facts(golden_facts()))) == golden_rows()[table.name]
