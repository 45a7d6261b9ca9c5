"""Compact the tables' closed days, drop what is past its retention, keep logs short. It may run beside the job."""

import argparse

from streaming.cli.arguments import Commands, add_config
from streaming.cli.logs import configure_logs
from streaming.config import load_config


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("maintain", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """One line a table, then 0."""
    config = load_config(arguments.config)
    configure_logs(config.log)
    from streaming.spark.maintain import Upkeep, maintain
    from streaming.spark.session import build_session

    spark = build_session("evenkeel maintain", config.spark.spark_settings())
    try:
        for done in maintain(spark, config.tables.path, Upkeep(keep_days=config.tables.retention_days.model_dump())):
            print(done)
    finally:
        spark.stop()
    return 0
