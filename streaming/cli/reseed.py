"""Begin a new checkpoint with the open alerts and members that the tables know.

For state of another version, another number of shards, or a checkpoint that is lost. The job must not be running;
afterwards set job.checkpoint to the new folder and start it.
"""

import argparse

from streaming.cli.configuration import configured, session
from streaming.config.environment import variable
from streaming.progress import waiting

AUTO = "auto"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", required=True, metavar="NEW", help="the new checkpoint's folder")
    parser.add_argument(
        "--starting-offsets",
        default=AUTO,
        metavar="OFFSETS",
        help="earliest, latest or JSON as for source.starting_offsets; auto, the default: from where the newest facts "
        "say that Kafka was read up to",
    )


def run(arguments: argparse.Namespace) -> int:
    """Say what the new checkpoint begins with, and what to do next; then 0."""
    start = None if arguments.starting_offsets == AUTO else arguments.starting_offsets
    options = {"--checkpoint": (variable(("job", "checkpoint")), arguments.checkpoint)}
    if start is not None:
        options["--starting-offsets"] = variable(("source", "starting_offsets")), start
    config = configured(arguments, options)
    from streaming.spark.job import plan_of
    from streaming.spark.reseed import reseed
    from streaming.spark.service import written_by

    with waiting("Reading what the tables know"), session(config, "reseed", written_by(config)) as (spark, _):
        made = reseed(spark, plan_of(config), start)
    new = config.job.checkpoint
    print(f"{new}: {made.groups} groups, {made.open_alerts} open alerts, from {made.starting_offsets}")
    print(f"Set job.checkpoint = \"{new}\" in the configuration and run 'evenkeel run'.")
    return 0
