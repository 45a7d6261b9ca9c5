"""Make every table that people read again from the facts. The job must not be running meanwhile."""

import argparse

from streaming.cli.arguments import Commands, add_config
from streaming.cli.logs import configure_logs
from streaming.config import load_config


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("rebuild", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """One line a table, then 0."""
    config = load_config(arguments.config)
    configure_logs(config.log)
    from streaming.spark.rebuild import rebuild
    from streaming.spark.session import build_session

    spark = build_session("evenkeel rebuild", config.spark.spark_settings())
    try:
        for table, rows in rebuild(spark, config.tables.path).items():
            print(f"{table}: {rows} rows")
    finally:
        spark.stop()
    return 0
