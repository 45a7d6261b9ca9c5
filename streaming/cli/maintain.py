"""Compact the tables' closed days, drop what is past its retention, keep logs short. It may run beside the job."""

import argparse

from streaming.cli.configuration import configured, session


def run(arguments: argparse.Namespace) -> int:
    """One line a table, then 0."""
    config = configured(arguments)
    from streaming.spark.maintain import MaintainOptions, maintain

    with session(config, "maintain") as spark:
        options = MaintainOptions(keep_days=config.tables.retention_days.model_dump())
        for done in maintain(spark, config.tables.path, options):
            print(done)
    return 0
