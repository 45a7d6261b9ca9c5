"""Watch for months: detection, the tables, their upkeep and pages in one process, until SIGTERM or SIGINT."""

import argparse
from threading import Event, Thread

from streaming.cli.configuration import configured_with_alerts
from streaming.config import Alerts, Config

ENDING_S = 10


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal. Raises MonitorError for a configuration that is refused, and when detection fails.

    The notifier reads only what detection has written: if the notifier fails, detection goes on.
    """
    config, alerts = configured_with_alerts(arguments)
    from streaming.notifier.from_config import notifier_settings
    from streaming.notifier.threads import keep_delivering
    from streaming.spark.service import serve

    settings = notifier_settings(config, alerts, file=arguments.config)
    stop = Event()
    notifier = Thread(target=keep_delivering, args=(settings, stop), name="notifier", daemon=True)
    pages = _pages(config, alerts, arguments, stop)
    try:
        serve(config, stop, started=lambda: _start(notifier, pages))
    finally:
        stop.set()
        if notifier.is_alive():
            notifier.join(ENDING_S)
    return 0


def _pages(config: Config, alerts: Alerts, arguments: argparse.Namespace, stop: Event) -> Thread | None:
    """The thread that serves the pages, if the configuration wants them here. Raises SetupError for their users."""
    if not config.web.in_run:
        return None
    from streaming.web.from_config import web_settings
    from streaming.web.server import keep_serving

    settings = web_settings(config, alerts, arguments.config)
    return Thread(target=keep_serving, args=(settings, stop), name="web", daemon=True)


def _start(*threads: Thread | None) -> None:
    for thread in threads:
        if thread is not None:
            thread.start()
