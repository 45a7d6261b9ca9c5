"""The SQL shell: a query ends with a semicolon, and may have several lines."""

import readline  # noqa: F401  (input() then has a history and the arrow keys)
import sys
from collections.abc import Callable
from sqlite3 import complete_statement

from streaming.errors import SourceError
from streaming.sql.database import Answer, Database

PROMPT, GOES_ON = "evenkeel> ", "     ...> "
WELCOME = """\
SQL over evenkeel's tables, by DuckDB. A query ends with a semicolon. Ctrl-D ends the shell.
  SHOW TABLES;                tables and views
  DESCRIBE queue_findings;    columns of one of them
  SELECT * FROM alerts_all WHERE resolved_time IS NULL;
docs/tables.md says what each table holds, and has queries to start with."""


def talk(database: Database, show: Callable[[Answer], None]) -> None:
    """Run the shell until the input ends. A refused query does not end it. Ctrl-C drops the typed text."""
    print(WELCOME)
    while True:
        try:
            text = _next_query()
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            continue
        _answer(database, text, show)


def _next_query() -> str:
    text = input(PROMPT)
    while text.strip() and not complete_statement(text):
        text += "\n" + input(GOES_ON)
    return text


def _answer(database: Database, text: str, show: Callable[[Answer], None]) -> None:
    try:
        for answer in database.answers(text):
            show(answer)
    except SourceError as error:
        print(f"evenkeel: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
