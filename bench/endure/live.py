"""The live part: 1,000 groups at real time over a real Kafka, a collector, the job with its notifier, and the pages.

The generator of ``evenkeel simulate`` makes the events of the groups, with faults. A real collector asks simulated
brokers with 50 more groups. Browsers keep pages open, and something scrapes as Prometheus does.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

from bench.endure.brokers import Brokers, BrokersPlan
from bench.endure.programs import EVENKEEL, KAFKA_KEEPS, PARTITIONS, Program, Recording, stop_by_signals, write_toml
from bench.endure.samples import Commits, Figures, of_folders, of_job, of_kafka, of_machine, of_process, spark_metrics
from bench.endure.visitors import Browser, Scraper
from bench.results import say
from streaming.errors import MonitorError
from streaming.loopback.kafka import LoopbackKafka
from streaming.loopback.ports import free_port
from testing.http_server import Server

TOPIC = "events"
FAULTY = "0.01"  # of the groups, at a time: so few that hardly any has three faults within an hour
STARTS_WITHIN_S = 600
FIRST_BATCHES = 3  # before the first line
READ_WITHIN_S = 5  # of the last events, before the job is stopped
PAGES = ("/", "/health")
RULES = """
[[sinks]]
name = "hook"
kind = "webhook"
url = "{url}"
"""


def run_live(folder: Path, recording: Recording, groups: int, stop: Event) -> None:
    """Run until the recording is over, or ``stop``. Raises MonitorError if a program ends by itself."""
    with _stage(folder, groups, recording.every_s) as stage:
        say("the live run has begun")
        stop_by_signals(stop)
        recording.begin()
        while not recording.is_over and not stop.wait(recording.every_s):
            stage.require_running()
            recording.write(stage.figures())


class _Stage:
    """The programs that run, and what asks them."""

    def __init__(
        self, folder: Path, programs: Sequence[Program], hook: Server, addresses: dict[str, str], line_s: float
    ) -> None:
        self._folder, self._hook = folder, hook
        self._programs = {program.name: program for program in programs}
        self.ended = Event()
        self._scraper = Scraper(addresses, line_s, self.ended)
        self._browsers = [Browser(addresses["web"], page, self.ended) for page in PAGES]
        self._commits = Commits(folder / "tables" / "facts")
        self._pages = 0

    def require_running(self) -> None:
        for program in self._programs.values():
            program.require_running()

    def wait_for_batches(self) -> None:
        """Wait until all programs work."""
        deadline = time.monotonic() + STARTS_WITHIN_S
        while (self._scraper.figures()["run.batches"] or 0) < FIRST_BATCHES:
            self.require_running()
            if time.monotonic() > deadline:
                raise MonitorError(f"the job has not made {FIRST_BATCHES} batches within {STARTS_WITHIN_S} s")
            self.ended.wait(1)

    def figures(self) -> Figures:
        found = of_job(self._programs["run"].pid, self._folder)
        for name in ("web", "collect", "feed"):
            found |= of_process(name, self._programs[name].pid)
        found |= of_kafka() | of_folders(self._folder) | of_machine()
        return found | self._commits.look() | self._scraper.figures() | self._asked()

    def _asked(self) -> Figures:
        """What browsers got, and what the webhook was sent."""
        each = [browser.figures() for browser in self._browsers]
        took_ms = [ms for _, _, took in each for ms in took]
        self._pages += len(self._hook.taken)
        self._hook.taken.clear()
        self._hook.got.clear()
        return {
            "browsers.requests": sum(requests for requests, _, _ in each),
            "browsers.errors": sum(errors for _, errors, _ in each),
            "web.page_ms": median(took_ms) if took_ms else None,
            "hook.pages": self._pages,
        }


@contextmanager
def _stage(folder: Path, groups: int, line_s: float) -> Iterator[_Stage]:
    with ExitStack() as stack:
        hook = stack.enter_context(Server())
        kafka = stack.enter_context(LoopbackKafka(folder / "kafka"))
        if not (folder / "checkpoint").exists():
            kafka.create_topic(TOPIC, PARTITIONS, KAFKA_KEEPS)
        fake = stack.enter_context(Brokers(BrokersPlan()))
        listens = {name: f"127.0.0.1:{free_port()}" for name in ("run", "collect", "web")}
        config = _configure(folder, kafka.bootstrap_servers, fake.name_servers(), hook.url, listens["web"])

        def begin(name: str, says: str, *words: str) -> Program:
            program = Program(name, [*EVENKEEL, name, "--config", str(config), *words], folder)
            stack.callback(program.stop)
            program.wait_for(says, STARTS_WITHIN_S)
            return program

        run = begin("run", "watching", "--metrics", listens["run"])
        beside = [begin("collect", "metrics at", "--metrics", listens["collect"]), begin("web", "pages of")]
        feed = Program("feed", [*EVENKEEL, *_feed(config, groups)], folder)
        stack.callback(time.sleep, READ_WITHIN_S)
        stack.callback(feed.stop)
        addresses = {name: f"http://{at}" for name, at in listens.items()}
        stage = _Stage(folder, [run, *beside, feed], hook, addresses, line_s)
        stack.callback(stage.ended.set)
        stage.wait_for_batches()
        yield stage


def _feed(config: Path, groups: int) -> list[str]:
    fleet = ["--groups", str(groups), "--faults", "all", "--faulty", FAULTY, "--seconds", str(7 * 86_400)]
    return ["simulate", "--config", str(config), "--paced", *fleet]


def _configure(folder: Path, kafka: str, namesrv: list[str], hook: str, web: str) -> Path:
    """The defaults, but for places, and for figures that Spark writes of itself."""
    (folder / "alerts.toml").write_text(RULES.format(url=hook))
    values: dict[str, dict[str, Any]] = {
        "source": {"topic": TOPIC, "bootstrap_servers": kafka},
        "tables": {"path": str(folder / "tables")},
        "job": {"checkpoint": str(folder / "checkpoint")},
        "collector": {"state": str(folder / "state" / "collector")},
        "collector.clusters": {"asked": ";".join(namesrv)},
        "notify": {"alerts": str(folder / "alerts.toml"), "state": str(folder / "state" / "notifier")},
        "web": {"listen": web},
        "spark.settings": spark_metrics(folder),
    }
    write_toml(folder / "evenkeel.toml", values)
    return folder / "evenkeel.toml"
