"""Begin a new checkpoint with the open alerts and members that the tables know.

For state of another version, another number of shards, or a checkpoint that is lost. The job must not be running;
afterwards set job.checkpoint to the new folder and start it.
"""

import argparse
from dataclasses import replace

from streaming.cli.arguments import Commands, add_config
from streaming.cli.logs import configure_logs
from streaming.config import load_config


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("reseed", description=__doc__)
    add_config(parser)
    parser.add_argument("--checkpoint", required=True, metavar="NEW", help="the new checkpoint's folder")
    parser.add_argument(
        "--starting-offsets",
        metavar="JSON",
        help="Spark's startingOffsets; without it, from where the newest facts say that Kafka was read up to",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Say what the new checkpoint begins with, and what to do next; then 0."""
    config = load_config(arguments.config)
    configure_logs(config.log)
    from streaming.spark.job import plan_of
    from streaming.spark.reseed import reseed
    from streaming.spark.session import build_session

    spark = build_session("evenkeel reseed", config.spark.spark_settings())
    try:
        plan = replace(plan_of(config), checkpoint=arguments.checkpoint)
        made = reseed(spark, plan, arguments.starting_offsets)
    finally:
        spark.stop()
    print(f"{arguments.checkpoint}: {made.groups} groups, {made.open_alerts} open alerts, from {made.starting_offsets}")
    print(f"Set job.checkpoint = \"{arguments.checkpoint}\" in the configuration and run 'evenkeel run'.")
    return 0
