"""Watch for months: detection, the tables, their upkeep and pages in one process, until SIGTERM or SIGINT."""

import argparse
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING

from streaming.cli.configuration import (
    add_metrics_option,
    add_standby_option,
    metrics_option,
    read_with_alerts,
)
from streaming.cli.reload import READ_ONCE_BY_PAGES, Reload, reloaded_by_signal
from streaming.config.alerts import Alerts
from streaming.config.sections import Config

if TYPE_CHECKING:
    from streaming.metrics.exposition import Exposed
    from streaming.notifier.exposed import NotifierCounts
    from streaming.notifier.threads import SettingsInForce
    from streaming.spark.job_counts import JobCounts
    from streaming.standby import Standby
    from streaming.web.live.watch import Watch

ENDING_S = 10
METRICS_POLL_S = 5.0  # Prometheus asks less often than people who watch a page
METRICS_KEEP_RESOLVED_MS = 600_000  # metrics have open alerts only; an older fact that is read again must not open one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_standby_option(parser, "writes to the same tables or checkpoint")
    add_metrics_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal. Raises MonitorError for a configuration that is refused, when detection fails, and, without
    --standby, while another job writes to the same tables.

    The notifier reads only what detection has written: if the notifier fails, detection goes on.
    """
    reload = Reload(partial(read_with_alerts, arguments, metrics_option(arguments)))
    config, alerts = reload.config, reload.alerts
    from streaming.cli.first_start import require_kafka
    from streaming.freed_memory import keep_giving_back
    from streaming.notifier.exposed import NotifierCounts
    from streaming.notifier.from_config import notifier_settings
    from streaming.notifier.threads import SettingsInForce, keep_delivering
    from streaming.spark.job_counts import PARTS, JobCounts
    from streaming.spark.service import serve
    from streaming.standby import Standby
    from streaming.systemd import ServiceState

    in_force = SettingsInForce(notifier_settings(config, alerts, file=arguments.config))
    keep_giving_back()
    stop, counts = Event(), NotifierCounts()
    state = ServiceState(PARTS, lambda: troubles_of_run(in_force, counts, job, standby))
    job, standby = JobCounts(state.went_on), Standby("the job", state.tell)
    delivering = (in_force, stop, counts, Standby("the notifier"))
    notifier = Thread(target=keep_delivering, args=delivering, name="notifier", daemon=True)
    beside = _pages_and_metrics(config, alerts, arguments, in_force, counts, job, standby, stop)

    def take(config: Config, alerts: Alerts) -> None:
        in_force.take(notifier_settings(config, alerts, file=arguments.config), counts)

    reload.take = take
    reload.read_once = READ_ONCE_BY_PAGES if config.web.in_run else ()

    def begin() -> None:
        notifier.start()
        beside()

    try:
        with reloaded_by_signal(reload):
            require_kafka(config)
            serve(config, stop, begin, job, standby if arguments.standby else None)
    finally:
        stop.set()
        if notifier.is_alive():
            notifier.join(ENDING_S)
    return 0


def _pages_and_metrics(
    config: Config,
    alerts: Alerts,
    arguments: argparse.Namespace,
    in_force: "SettingsInForce",
    counts: "NotifierCounts",
    job: "JobCounts",
    standby: "Standby",
    stop: Event,
) -> Callable[[], None]:
    """Serves the metrics, and gives what starts the pages, each if the configuration wants it here. Both follow the
    facts by one reader. Raises SetupError for the pages' users.
    """
    if not config.web.in_run and not config.metrics.listen:
        return lambda: None
    from streaming.metrics.endpoints import start_serving
    from streaming.web.live.watch import POLL_S, Watch
    from streaming.web.server import keep_serving
    from streaming.web.settings import web_settings
    from streaming.web.views.known import KEEP_RESOLVED_MS

    pages = web_settings(config, alerts, arguments.config) if config.web.in_run else None
    keep_resolved_ms = METRICS_KEEP_RESOLVED_MS if pages is None else KEEP_RESOLVED_MS
    watch = Watch(config.tables.path, config.settings().timing.forget_after_ms, keep_resolved_ms)
    exposed = exposed_by_run(config, watch, in_force, counts, job, standby)
    start_serving(config.metrics.address(), exposed, stop)

    def start() -> None:
        watch.start_reading(stop, METRICS_POLL_S if pages is None else POLL_S)
        if pages is not None:
            Thread(target=keep_serving, args=(pages, watch, stop, exposed), name="web", daemon=True).start()

    return start


def exposed_by_run(
    config: Config,
    watch: "Watch",
    in_force: "SettingsInForce",
    counts: "NotifierCounts",
    job: "JobCounts",
    standby: "Standby",
) -> "Exposed":
    """Of the job, of the groups, and of the notifier, if it is this one that delivers."""
    from streaming.metrics.exposition import Exposed
    from streaming.web.live.exposed import facts_reader

    readers = [standby.series, job.series, facts_reader(watch, config.metrics.series_limit), counts.series]
    troubles = partial(troubles_of_run, in_force, counts, job, standby)
    return Exposed("run", readers, troubles, standby.is_waiting)


def troubles_of_run(
    in_force: "SettingsInForce", counts: "NotifierCounts", job: "JobCounts", standby: "Standby"
) -> list[str]:
    if waits := standby.troubles():
        return waits
    settings = in_force.settings
    limits, now = settings.limits, settings.now_ms()
    of_job = job.troubles(settings.clusters, limits.blind_ms, limits.late_ms, now)
    return of_job + (counts.troubles(limits, now) if counts.status is not None else [])
