"""The columns of every table as in ``docs/tables.md``; ``scripts/tables_doc.py FILE`` writes them."""

import sys
from pathlib import Path

from schemas.table_definition import Table
from schemas.tables import CURRENT, FACTS, HISTORY, NOTIFICATIONS

BEGIN, END = (
    "<!-- columns: made from schemas/facts.py and schemas/tables.py, change these -->",
    "<!-- end of columns -->",
)


def columns_section() -> str:
    """The section in Markdown: each table's description, then its columns."""
    parts = ["## Current state: one row a thing, replaced as it changes", *map(_described, CURRENT)]
    parts += ["## History: one row an event, never changed", *map(_described, (*HISTORY, NOTIFICATIONS))]
    parts += ["## The log", _described(FACTS)]
    return "\n\n".join([BEGIN, *parts, END])


def with_columns(document: str) -> str:
    """The document with its section of columns replaced by the current tables."""
    before, _, rest = document.partition(BEGIN)
    return before + columns_section() + rest.partition(END)[2]


def _described(table: Table) -> str:
    lines = [f"### {table.name}", "", table.comment, "", *_kept(table)]
    lines += ["| column | type | meaning |", "| --- | --- | --- |"]
    lines += [f"| {one.name} | {_shown(one.type)} | {one.comment} |" for one in table.columns]
    return "\n".join(lines)


def _kept(table: Table) -> list[str]:
    if table.merge_keys:
        return [f"One row for each ({', '.join(table.merge_keys)}).", ""]
    kept = f"Partitioned by date; kept {table.keep_days} days unless configured otherwise"
    if table.keep_newest_of:
        kept += f", the newest row of each ({', '.join(table.keep_newest_of)}) until its {' is '.join(table.unless)}"
    return [f"{kept}.", ""]


def _shown(sql_type: str) -> str:
    """The type without the fields of a struct: the comment describes them."""
    before, struct, _ = sql_type.partition("STRUCT")
    return f"{before}STRUCT<...>{'>' * before.count('<')}" if struct else sql_type


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_columns(page.read_text(encoding="utf-8")), encoding="utf-8")
