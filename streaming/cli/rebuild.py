"""Make every table that people read again from the facts. The job must not be running meanwhile."""

import argparse

from streaming.cli.configuration import configured, session
from streaming.progress import Progress


def run(arguments: argparse.Namespace) -> int:
    """One line a table, then 0."""
    config = configured(arguments)
    from streaming.spark.rebuild import rebuild

    progress = Progress()

    def tell(done: int, of: int) -> None:
        progress.say(f"{done} of {of} facts")

    with session(config, "rebuild", {"tables.path": config.tables.path}) as spark:
        with progress:
            rebuilt = rebuild(spark, config.tables.path, tell)
        for table, rows in rebuilt.items():
            print(f"{table}: {rows} rows")
    return 0
