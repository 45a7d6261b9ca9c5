"""Query the tables with SQL, by DuckDB: no Java, no Kafka, no RocketMQ.

Beside the tables there are views: newest_rounds, queue_findings_all, alerts_all and group_status_now, and the
silences. Without a query it is a shell. docs/tables.md has the columns, and queries to start with.
"""

import argparse
import os
import sys
from pathlib import Path

from streaming.cli.configuration import configured
from streaming.cli.exit_status import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c", dest="query", metavar="QUERY", help="run this query and end; - reads queries from standard input"
    )
    parser.add_argument("--tables", metavar="DIR", help="the folder of the tables; without it, the configuration's")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", dest="form", action="store_const", const="csv", help="print CSV")
    form.add_argument("--json", dest="form", action="store_const", const="json", help="print an array of objects")
    parser.add_argument("--views", action="store_true", help="print the SQL of the views, for Spark too, and end")
    parser.set_defaults(form="table")


def run(arguments: argparse.Namespace) -> int:
    """0. Raises SetupError without DuckDB, SourceError for a query that is refused or a folder without tables."""
    from streaming.cli import status_after
    from streaming.sql.database import VIEWS, Database
    from streaming.sql.formats import print_csv, print_json, print_table
    from streaming.sql.shell import talk

    if arguments.views:
        print(VIEWS.read_text(encoding="utf-8"), end="")
        return 0
    config = configured(arguments, writes=())
    database = Database(arguments.tables or config.tables.path, Path(config.notify.state))
    show = {"table": print_table, "csv": print_csv, "json": print_json}[arguments.form]

    def work() -> int:
        if arguments.query is None and sys.stdin.isatty():
            talk(database, show)
        else:
            from_input = arguments.query in (None, "-")
            for answer in database.answers(sys.stdin.read() if from_input else arguments.query):
                show(answer)
        return DONE

    if database.is_local:
        return work()
    os._exit(status_after(work))  # not with threads that still read ahead in Python: they crash or hang while it ends
