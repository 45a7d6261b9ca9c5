"""Ask RocketMQ clusters who is in their consumer groups and who owns what, until SIGTERM or SIGINT."""

import argparse

from streaming.cli.configuration import add_metrics_option, metrics_option, read
from streaming.cli.exit_status import DONE, INCOMPLETE
from streaming.cli.options import writable
from streaming.cli.reload import Reload, reloaded_by_signal
from streaming.config.alerts import Alerts
from streaming.wording.names import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="ask once who is there, print the requests a second that collecting would mean, and end: with 0 if all "
        "have answered, else with 2",
    )
    parser.add_argument(
        "--record",
        type=writable,
        metavar="FILE",
        help="keep every answer too, for 'evenkeel replay'; appended, compressed if the name ends in .gz; - is "
        "standard output",
    )
    add_metrics_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal; of a dry run 0 if everybody has answered, else 2.

    Raises MonitorError for a configuration that is refused, and what cannot be set up.
    """
    reload = Reload(lambda: (read(arguments, metrics_option(arguments), writes=()), Alerts()))  # it reads no rules
    config = reload.config
    from streaming.collector.service import collect, dry_run

    if arguments.dry_run:
        is_complete = True
        for footprint in dry_run(config):
            is_complete &= footprint.is_complete
            for line in footprint.lines:
                print(plain(line), flush=True)
        return DONE if is_complete else INCOMPLETE
    with reloaded_by_signal(reload):
        collect(config, arguments.record)
    return 0
