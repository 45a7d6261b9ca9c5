"""Watch for months: detection, the tables, their upkeep and pages in one process, until SIGTERM or SIGINT."""

import argparse
from threading import Event, Thread

from streaming.cli.configuration import configured_with_alerts

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
    try:
        serve(config, stop, started=notifier.start)
    finally:
        stop.set()
        if notifier.is_alive():
            notifier.join(ENDING_S)
    return 0
