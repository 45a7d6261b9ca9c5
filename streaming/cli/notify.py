"""Tell people of alerts, as the alert rules say, in a process apart from the job, until SIGTERM or SIGINT.

'evenkeel run' does so too, but cannot tell of its own end. While this process delivers, the notifier of 'run' waits.
"""

import argparse
from functools import partial
from threading import Event

from streaming.cli.configuration import (
    add_metrics_option,
    add_standby_option,
    metrics_option,
    read_with_alerts,
)
from streaming.cli.exit_status import DONE, NOT_RIGHT
from streaming.cli.reload import Reload, reloaded_by_signal
from streaming.config.alerts import Alerts
from streaming.config.cross_key_checks import NOTIFIER, TABLES
from streaming.config.sections import Config
from streaming.metrics.endpoints import start_serving
from streaming.metrics.exposition import Exposed
from streaming.notifier.exposed import NotifierCounts
from streaming.notifier.from_config import notifier_settings
from streaming.notifier.send_test_page import test_destinations
from streaming.notifier.threads import PARTS, NotifierSettings, SettingsInForce, keep_delivering
from streaming.shutdown_signals import ended_by_signals
from streaming.standby import Standby
from streaming.systemd import ServiceState
from streaming.wording.names import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--test",
        action="store_true",
        help="send a test page and its end to every destination once, say what came back, and no more",
    )
    add_standby_option(parser, "delivers")
    add_metrics_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal; with --test 0 if every destination took it, else 1.

    Raises MonitorError for what is refused, and, without --standby, while another notifier delivers.
    """
    writes = () if arguments.test else (TABLES, NOTIFIER)
    reload = Reload(partial(read_with_alerts, arguments, metrics_option(arguments), writes))
    config = reload.config
    settings = notifier_settings(config, reload.alerts, file=arguments.config)
    if arguments.test:
        return _test(settings)
    stop, counts = Event(), NotifierCounts()

    def troubles() -> list[str]:
        limits = in_force.settings.limits
        return standby.troubles() or counts.troubles(limits, settings.now_ms())

    state = ServiceState(PARTS, troubles)
    standby = Standby("the notifier", state.tell)
    in_force = SettingsInForce(settings._replace(went_on=state.went_on))

    def take(config: Config, alerts: Alerts) -> None:
        taken = notifier_settings(config, alerts, file=arguments.config)
        in_force.take(taken._replace(went_on=state.went_on), counts)

    reload.take = take
    exposed = Exposed("notify", [standby.series, counts.series], troubles, standby.is_waiting)
    start_serving(config.metrics.address(), exposed, stop)
    with reloaded_by_signal(reload), ended_by_signals(stop):
        keep_delivering(in_force, stop, counts, standby if arguments.standby else None)
    return 0


def _test(settings: NotifierSettings) -> int:
    """Send a test page. It may run beside a notifier that delivers, because it keeps nothing."""
    has_failed = False
    for one in test_destinations(settings):
        has_failed |= not one.is_accepted
        outcome = "taken" if one.is_accepted else "NOT TAKEN"
        unrouted = "" if one.is_routed else "; but no route names it: no page ever goes there"
        print(plain(f"{one.name}: {outcome}: {one.answer}{unrouted}"), flush=True)
    return NOT_RIGHT if has_failed else DONE
