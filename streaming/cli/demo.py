"""Show recordings of a real RocketMQ and a simulated fleet, live: a real Kafka, the real job, pages in a browser."""

import argparse
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from threading import Event, Thread

from streaming.config import Alerts, Config, Notify, Tables, Web
from streaming.demo.example_queries import example_queries
from streaming.demo.fleet import demo_templates
from streaming.demo.live_run import TOPIC, DemoRun
from streaming.demo.scenarios import load_scenarios
from streaming.demo.schedule import CLUSTER
from streaming.demo.terminal import Terminal
from streaming.loopback.kafka import LoopbackKafka, kafka_jars
from streaming.loopback.ports import free_port
from streaming.replay.output_folder import fresh_folder
from streaming.spark.packages import spark_jars
from streaming.wording.numbers import counted

FOLDER = Path("data", "demo")
PARTITIONS = 4
HOST, PORT = "127.0.0.1", 8400
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
    """Set up, play, sum up, and return 0; Ctrl-C is an end like any other. Raises MonitorError where it cannot."""
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
        address = _free_address()
        show = DemoRun(
            terminal, scenarios, templates, kafka.bootstrap_servers, folder, arguments.seconds, f"http://{address}/"
        )
        stack.enter_context(_pages(address, folder, show.tables))
        show.run()
    _print_summary(terminal, show, time.monotonic() - began)
    return 0


def _free_address() -> str:
    """Where the pages are by default, else with another port."""
    with socket.socket() as probe:
        try:
            probe.bind((HOST, PORT))
        except OSError:
            return f"{HOST}:{free_port()}"
    return f"{HOST}:{PORT}"


@contextmanager
def _pages(address: str, folder: Path, tables: Path) -> Iterator[None]:
    """The pages of the tables, served by this process."""
    from streaming.web.from_config import web_settings
    from streaming.web.live.watch import Watch
    from streaming.web.server import keep_serving

    config = Config(
        tables=Tables(path=str(tables)), web=Web(listen=address), notify=Notify(state=str(folder / "notifier"))
    )
    settings = web_settings(config, Alerts())
    settings = settings._replace(site=settings.site._replace(is_played=True))
    watch, stop = Watch(config.tables.path), Event()
    web = Thread(target=keep_serving, args=(settings, watch, stop), name="web", daemon=True)
    web.start()
    reader = watch.start_reading(stop)
    try:
        yield
    finally:
        stop.set()
        for thread in (reader, web):
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
