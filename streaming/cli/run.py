"""Watch for months: detection, the tables and their upkeep in one process, until SIGTERM or SIGINT."""

import argparse

from streaming.cli.arguments import Commands, add_config
from streaming.cli.logs import configure_logs
from streaming.config import load_config


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("run", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal. Raises MonitorError for a configuration that is refused, and when detection fails."""
    config = load_config(arguments.config)
    configure_logs(config.log)
    from streaming.spark.service import serve  # Spark takes a second that a refused configuration need not wait for

    serve(config)
    return 0
