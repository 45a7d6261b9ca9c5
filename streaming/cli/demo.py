"""Show recordings of a real RocketMQ and a simulated fleet, live: a real Kafka, the real job, pages in a browser."""

import argparse
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from threading import Event, Thread

from streaming.cli.run import exposed_by_run
from streaming.config.alerts import Alerts, Monitor, Pages
from streaming.config.sections import Config, Job, Metrics, Notify, Source, Spark, Tables, Web
from streaming.demo.example_queries import example_queries
from streaming.demo.live_run import FINISH_WITHIN_S, TOPIC, DemoRun
from streaming.demo.recording_schedule import CLUSTER, load_scenarios
from streaming.demo.simulated_schedule import demo_templates
from streaming.demo.terminal import Terminal
from streaming.loopback.kafka import LoopbackKafka, kafka_jars
from streaming.loopback.ports import free_port
from streaming.metrics.endpoints import start_serving
from streaming.replay.output_folder import fresh_folder
from streaming.replay.spark_engine import SHORT_LIVED
from streaming.spark.job_counts import JobCounts
from streaming.spark.packages import spark_jars
from streaming.wording.numbers import counted

FOLDER = Path("data", "demo")
PARTITIONS = 4
HOST = "127.0.0.1"
PAGES, METRICS, COLLECTOR = 8400, 9464, 9465  # as conf/prometheus/prometheus.yml has them
OPEN = "open?cluster={cluster}&group={group}&alert={alert}"
ENDING_S = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=_positive, metavar="N", help="end N seconds after the first event is played")
    parser.add_argument("--keep", type=Path, metavar="DIR", default=FOLDER, help=f"where the tables go ({FOLDER})")


def _positive(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError("a number of seconds above 0")
    return seconds


def run(arguments: argparse.Namespace) -> int:
    """Set up, play, sum up, and return 0; Ctrl-C is an end like any other. Raises MonitorError if it cannot."""
    terminal = Terminal()
    began = time.monotonic()
    folder = fresh_folder(arguments.keep.absolute())
    scenarios = load_scenarios(terminal.say)
    with ExitStack() as stack:
        with terminal.step("Looking for the jars of Spark's connectors and of Kafka (the first time, fetching them)"):
            spark_jars()
            kafka_jars()
        with terminal.step("Simulating a dozen groups, and their faults"):
            templates = demo_templates()
        kafka = LoopbackKafka()
        with terminal.step("Starting Kafka"):
            stack.callback(kafka.stop)
            kafka.start()
            kafka.create_topic(TOPIC, PARTITIONS)
        config, collector = _demo_config(kafka.bootstrap_servers, folder), _free_address(COLLECTOR)
        job, stop = JobCounts(), Event()
        start_notifier = stack.enter_context(_served(config, job, stop))
        show = DemoRun(
            terminal, scenarios, templates, config, collector, folder, arguments.seconds, job, start_notifier, stop
        )
        show.run()
    _print_summary(terminal, show, time.monotonic() - began)
    return 0


def _demo_config(bootstrap_servers: str, folder: Path) -> Config:
    """Everybody on this machine may silence: the pages are of the demo, and are served on loopback only."""
    return Config(
        source=Source(topic=TOPIC, bootstrap_servers=bootstrap_servers),
        tables=Tables(path=str(folder / "tables")),
        job=Job(checkpoint=str(folder / "checkpoint"), shards=8, trigger_seconds=1, maintenance=False),
        spark=Spark.model_validate({"settings": SHORT_LIVED}),
        web=Web(listen=_free_address(PAGES), may_silence=["*"]),
        metrics=Metrics(listen=_free_address(METRICS)),
        notify=Notify(state=str(folder / "notifier")),
    )


def demo_alerts(pages: str) -> Alerts:
    """Each page leads to the demo's own. That no rounds come is no trouble while the job catches up at the end."""
    return Alerts(pages=Pages(link=f"http://{pages}/{OPEN}"), monitor=Monitor(blind_seconds=2 * FINISH_WITHIN_S))


def _free_address(port: int) -> str:
    """On loopback, with this port if it is free, else with another one."""
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return f"{HOST}:{free_port()}"
    return f"{HOST}:{port}"


@contextmanager
def _served(config: Config, job: JobCounts, stop: Event) -> Iterator[Callable[[], None]]:
    """Pages and metrics, as in ``run``. Gives what starts a notifier, which ends with ``stop``."""
    from streaming.notifier.exposed import NotifierCounts
    from streaming.notifier.from_config import notifier_settings
    from streaming.notifier.threads import SettingsInForce, keep_delivering
    from streaming.standby import Standby
    from streaming.web.live.watch import Watch
    from streaming.web.server import keep_serving
    from streaming.web.settings import web_settings

    alerts = demo_alerts(config.web.listen)
    shown, sent = web_settings(config, alerts), notifier_settings(config, alerts)
    site = shown.site._replace(is_played=True)
    shown, sent = shown._replace(site=site), sent._replace(site=site)
    in_force = SettingsInForce(sent)
    watch, counts, over = Watch(config.tables.path), NotifierCounts(), Event()
    web = Thread(target=keep_serving, args=(shown, watch, over), name="web", daemon=True)
    delivering = (in_force, stop, counts, Standby("the notifier"))
    notifier = Thread(target=keep_delivering, args=delivering, name="notifier", daemon=True)
    exposed = exposed_by_run(config, watch, in_force, counts, job, Standby("the job"))
    start_serving(config.metrics.address(), exposed, over)
    web.start()
    reader = watch.start_reading(over)
    try:
        yield notifier.start
    finally:
        over.set()
        for thread in (reader, web, notifier):
            if thread.is_alive():
                thread.join(ENDING_S)


def _print_summary(terminal: Terminal, show: DemoRun, took_s: float) -> None:
    if show.output is None:
        terminal.say("Stopped before anything was played.")
        return
    terminal.say(f"\nHow the groups of cluster {CLUSTER} stand:", "bold")
    terminal.table(["group", "what it is about", "status", "open alerts"], show.output.summary())
    played = counted(show.records, "record")
    fired = counted(show.output.alerts_fired, "alert")
    terminal.say(f"\n{played} played, {fired} fired, {took_s:.0f} s in all. Tables: {show.tables}\n")
    terminal.say(f"The pages again: {quote(sys.executable)} -m streaming web --tables {quote(str(show.tables))}\n")
    terminal.say(example_queries(show.tables))
