"""Compact the tables' closed days, drop what is past its retention, keep logs short. It may run beside the job."""

import argparse

from streaming.cli.configuration import configured, session
from streaming.progress import waiting


def run(arguments: argparse.Namespace) -> int:
    """Print one line a table, then return 0. Only ``facts`` takes Spark, which alone writes it."""
    config = configured(arguments)
    from streaming.projections.maintain import maintain
    from streaming.spark.maintain import maintain_facts
    from streaming.tables.maintenance import MaintainOptions

    options = MaintainOptions(keep_days=config.tables.retention_days.model_dump())
    with waiting("Compacting facts"), session(config, "maintain") as spark:
        facts = maintain_facts(spark, config.tables.path, options)
    if facts is not None:
        print(facts)
    for done in maintain(config.tables.path, options):
        print(done)
    return 0
