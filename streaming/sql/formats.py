"""The answer to a query as a table on a terminal, as CSV, or as JSON."""

import csv
import json
import sys
from datetime import date, datetime
from itertools import islice
from typing import Any

from rich import box
from rich.table import Table

from streaming.snapshots.screen import plain_console
from streaming.sql.database import Answer
from streaming.wording.names import plain

MOST_ROWS = 200  # of a table of text: more than anybody reads on a screen


def print_table(answer: Answer) -> None:
    """Print columns as wide as their content, and at most ``MOST_ROWS`` rows. Without an answer nothing is printed."""
    if not answer.columns:
        return
    table = Table(*map(plain, answer.columns), box=box.SIMPLE_HEAD, pad_edge=False)
    rows = answer.rows()
    for row in islice(rows, MOST_ROWS):
        table.add_row(*map(_cell, row))
    console = plain_console()
    console.print(table)
    if next(rows, None) is not None:
        console.print(f"These are the first {MOST_ROWS} rows. --csv and --json print all of them.")


def print_csv(answer: Answer) -> None:
    """Print a line of names, then a line a row. Null is empty; lists and structs are JSON; times are ISO 8601."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(map(_csv_cell, row) for row in answer.rows())


def print_json(answer: Answer) -> None:
    """Print an array with one object a row, one row a line. Times are ISO 8601."""
    rows = (dict(zip(answer.columns, row, strict=True)) for row in answer.rows())
    print("[" + ",\n ".join(_json(row) for row in rows) + "]")


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, list):
        return plain(", ".join(map(_cell, value))) if value else "[]"
    return plain(_json(value) if isinstance(value, dict) else str(value))


def _csv_cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return _json(value)
    return value.isoformat() if isinstance(value, date) else value


def _json(value: Any) -> str:
    return json.dumps(value, default=_text_of, ensure_ascii=False)


def _text_of(value: Any) -> str:
    if isinstance(value, date):  # a datetime is a date
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)
