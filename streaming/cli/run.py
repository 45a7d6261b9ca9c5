"""Watch for months: detection, the tables and their upkeep in one process, until SIGTERM or SIGINT."""

import argparse

from streaming.cli.arguments import Commands, add_config
from streaming.cli.session import configured


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("run", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal. Raises MonitorError for a configuration that is refused, and when detection fails."""
    config = configured(arguments)
    from streaming.spark.service import serve

    serve(config)
    return 0
