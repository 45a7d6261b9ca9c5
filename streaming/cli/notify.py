"""Tell people of alerts, as the alert rules say, in a process apart from the job, until SIGTERM or SIGINT.

'evenkeel run' does so too, but cannot tell of its own end. While this process delivers, the notifier of 'run' waits.
"""

import argparse
import signal
from threading import Event

from streaming.cli.arguments import Commands, add_config
from streaming.cli.session import configured_with_alerts
from streaming.config import NOTIFIER, TABLES


def add_command(commands: Commands) -> None:
    parser = commands.add_parser("notify", description=__doc__)
    add_config(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal. Raises MonitorError for what is refused, and while another notifier delivers."""
    config, alerts = configured_with_alerts(arguments, writes=(TABLES, NOTIFIER))
    from streaming.notifier.service import keep_serving
    from streaming.notifier.setting_up import plan_of

    plan = plan_of(config, alerts)
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stop.set())
    keep_serving(plan, stop, is_alone=True)
    return 0
