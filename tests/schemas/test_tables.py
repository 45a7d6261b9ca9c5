"""The definitions of the tables, as data."""

import re
from pathlib import Path

import pytest

from schemas.tables import CURRENT, FACTS, HISTORY, PROJECTIONS, TABLES
from scripts.tables_doc import columns_section, with_columns
from streaming.config.sections import Retention

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
# Reserved by Spark's ANSI mode or by DuckDB: unquoted, they would break a query.
RESERVED = {"group", "order", "left", "right", "from", "to", "end", "when", "where", "check", "default", "limit"}
TIMES_WITHIN = re.compile(r"`?(\w+)`?:(?:ARRAY<)?TIMESTAMP")  # within structs
UNITS = re.compile(r"milliseconds|per second")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_has_a_comment_and_a_name_of_its_own(table):
    names = [column.name for column in table.columns]

    assert len(set(names)) == len(names)
    assert all(column.comment and "|" not in column.comment for column in table.columns)
    assert set(table.merge_keys) | set(table.keep_newest_of) | set(table.partitioned_by) <= set(names)


@pytest.mark.parametrize("table", PROJECTIONS, ids=lambda table: table.name)
def test_no_column_of_a_projection_needs_quotes(table):
    assert RESERVED.isdisjoint(column.name for column in table.columns)


@pytest.mark.parametrize("table", PROJECTIONS, ids=lambda table: table.name)
def test_times_are_timestamps_and_durations_name_their_unit(table):
    for column in table.columns:
        if column.type == "TIMESTAMP":
            assert column.name == "ts" or column.name.endswith("_time"), column
        assert column.type == "TIMESTAMP" or not column.name.endswith(("_time", "since", "until")), column
        assert all(name.endswith(("_time", "_times")) for name in TIMES_WITHIN.findall(column.type)), column
        if column.name.endswith(("_ms", "_per_s")):
            assert UNITS.search(column.comment), column


def test_current_tables_merge_and_history_does_not():
    assert all(table.merge_keys and not table.partitioned_by for table in CURRENT)
    assert all(table.partitioned_by == ("date",) and not table.merge_keys for table in (*HISTORY, FACTS))


def test_retention_is_what_the_configuration_says_by_default():
    configured = Retention().model_dump()

    assert configured == {table.name: table.keep_days for table in TABLES if table.name in configured}


def test_the_page_has_the_columns_of_today():
    text = PAGE.read_text(encoding="utf-8")

    assert with_columns(text) == text, "run .venv/bin/python scripts/tables_doc.py docs/tables.md"
    assert columns_section() in text


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_query_of_the_readme_names_columns_that_there_are(page: str) -> None:
    text = (PAGE.parents[1] / page).read_text()
    selected, table = re.findall(r"^    SELECT (.*)\n    FROM (\w+)", text, re.MULTILINE)[0]
    columns = {column.name for one in TABLES if one.name == table for column in one.columns}
    assert set(selected.split(", ")) <= columns
