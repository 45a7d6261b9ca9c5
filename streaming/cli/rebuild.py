"""Make every table that people read again from the facts. The job must not be running meanwhile."""

import argparse

from streaming.cli.arguments import Commands, add_config
from streaming.cli.session import configured, session


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("rebuild", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """One line a table, then 0."""
    config = configured(arguments)
    from streaming.spark.rebuild import rebuild

    with session(config, "rebuild", {"tables.path": config.tables.path}) as spark:
        for table, rows in rebuild(spark, config.tables.path).items():
            print(f"{table}: {rows} rows")
    return 0
