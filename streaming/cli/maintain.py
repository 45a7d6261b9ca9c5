"""Compact the tables' closed days, drop what is past its retention, keep logs short. It may run beside the job, except
on S3.
"""

import argparse
from urllib.parse import urlsplit

from streaming.cli.configuration import configured, session
from streaming.progress import waiting

ONE_WRITER = ("s3", "s3a")


def run(arguments: argparse.Namespace) -> int:
    """Print one line a table, then return 0. Only ``facts`` takes Spark, which alone writes it."""
    config = configured(arguments)
    from streaming.projections.maintain import maintain
    from streaming.spark.maintain import maintain_facts
    from streaming.tables.maintenance import maintain_options
    from streaming.tables.version import require_known_tables

    options, tables = maintain_options(config), config.tables.path
    require_known_tables(tables)
    # Spark's side of Delta knows only commits of its own process on S3: two of them lose each other's.
    alone_in = {"tables.path": tables} if urlsplit(tables).scheme in ONE_WRITER else {}
    with waiting("Compacting the tables"), session(config, "maintain", alone_in) as (spark, require_held):
        for work in (
            lambda: [maintain_facts(spark, tables, options, require_held=require_held)],
            lambda: maintain(tables, options),
        ):
            for one in work():
                if one is not None:
                    print(one)
    return 0
