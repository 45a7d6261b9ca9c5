"""A run of the demo: records go into Kafka, the job runs in this process, and committed facts are printed."""

import heapq
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from types import FrameType

import msgspec
from deltalake import DeltaTable
from msgspec import Struct, field

from schemas.facts import AlertFact, GroupFact
from schemas.tables import FACTS
from streaming.collector.exposed import CollectorExposed
from streaming.config.sections import Config, Source
from streaming.config.values import host_and_port
from streaming.demo.live_output import LiveOutput
from streaming.demo.played_collector import PlayedCollector
from streaming.demo.popping_group import CUT_OFF, POPPING_GROUP, popping_schedule
from streaming.demo.publisher import Publisher
from streaming.demo.recording_schedule import CLUSTER, Scenario, Scheduled, schedule
from streaming.demo.simulated_schedule import GROUPS, simulated_schedule
from streaming.demo.terminal import Terminal
from streaming.errors import MonitorError
from streaming.log_format import TextLines
from streaming.metrics.endpoints import start_serving
from streaming.metrics.exposition import Exposed
from streaming.projections.projector import run_projections
from streaming.simulation.load.group_template import GroupTemplate
from streaming.simulation.load.segment import ROUND_MS
from streaming.sinks.log import log as pages
from streaming.spark.job_counts import JobCounts
from streaming.spark.service import serve
from streaming.tables.facts_log import FactsReader
from streaming.tables.storage import mark_replayed
from streaming.wall_clock import now_ms

TOPIC = Source().topic
POLL_S = 0.5
FIRST_EVENT_MS = 500
FINISH_WITHIN_S = 300  # a busy machine may need minutes
TO_LOOK_AT = (
    "the list of groups: the worst is first, and it changes by itself",
    "a group: the map shows who owns each queue, who should own it, and what is wrong; the timeline, what happened",
    "an alert: which queues, since when, why, what changed before, what to do; and a form that silences it",
    "Health: evenkeel itself. Plan: what a change would do to a group",
)
SHOWN_LINES = 30  # of Java, if the job fails: a stack of Java and its causes
STDERR = 2  # the descriptor that child processes inherit, also if sys.stderr was replaced


class PageLog(logging.FileHandler):
    """A log handler that takes every page from its creation on, so that none goes to standard error."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        formatter = TextLines("%(asctime)sZ %(message)s", "%Y-%m-%dT%H:%M:%S")
        formatter.converter = time.gmtime
        self.setFormatter(formatter)
        self._titles: SimpleQueue[str] = SimpleQueue()
        pages.addHandler(self)
        pages.setLevel(logging.INFO)
        pages.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self._titles.put(self.format(record).partition("\n")[0].partition(" ")[2])

    def new_titles(self) -> list[str]:
        """The titles of pages since the last call."""
        return [self._titles.get() for _ in range(self._titles.qsize())]

    def close(self) -> None:
        pages.removeHandler(self)
        pages.propagate = True
        super().close()


@dataclass
class DemoRun:
    """A run. ``config``: of the job, its notifier and pages; ``collector``: the address of the player's metrics.

    ``folder`` gets Spark's messages in ``spark.log`` and pages in ``pages.log``. ``job`` counts the job's batches.
    ``started`` is called once the job runs, and ``stop`` is set when it ends.
    """

    terminal: Terminal
    scenarios: list[Scenario]
    templates: list[GroupTemplate]
    config: Config
    collector: str
    folder: Path
    seconds: float | None
    job: JobCounts
    started: Callable[[], None]
    stop: Event
    output: LiveOutput | None = None
    records: int = 0

    def __post_init__(self) -> None:
        self.tables = Path(self.config.tables.path)
        self._pages = f"http://{self.config.web.listen}/"
        self._page_log = PageLog(self.folder / "pages.log")
        self._ready = Event()
        self._stderr = StderrToFile(self.folder / "spark.log")
        self._failure: BaseException | None = None
        self._facts = FactsReader(self.tables / FACTS.name, [AlertFact, GroupFact])

    def run(self) -> None:
        """Run until the time is over or a signal comes. Raises MonitorError if the job fails."""
        printer = Thread(target=self._print_all, name="printer", daemon=True)
        printer.start()
        try:
            self._stderr.begin()
            serve(self.config, self.stop, self._on_ready, self.job)
        except MonitorError:
            self._stderr.end()
            self._stderr.show_last()  # the error may lead to them
            raise
        finally:
            self._stderr.end()
            self.stop.set()
            printer.join()
        if self._failure is not None:
            raise self._failure
        self._print_news()
        self._page_log.close()
        if self.output is not None:
            with self.terminal.step("Bringing the tables up to date"):
                run_projections(str(self.tables))
            mark_replayed(self.tables, "evenkeel demo")  # from here on they are about the past, and send no pages

    def _on_ready(self) -> None:
        """Set our signal handlers. Called in the main thread once the query runs, after pyspark has set its own."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            self.stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        self._stderr.end()
        self.started()
        self._ready.set()

    def _print_all(self) -> None:
        try:
            with self.terminal.step("Starting Spark and the streaming job"):
                while not (self._ready.is_set() or self.stop.is_set()):
                    self._ready.wait(POLL_S)
            if self._ready.is_set():
                self._play()
        except BaseException as error:
            self._failure = error
        finally:
            self.stop.set()

    def _play(self) -> None:
        start_ms = now_ms() + FIRST_EVENT_MS
        self.output = output = LiveOutput(self.scenarios, start_ms, (*GROUPS, POPPING_GROUP), self._pages)
        self._print_introduction(start_ms)
        publisher = self._publisher(start_ms)
        publisher.start()
        try:
            while not self.stop.wait(POLL_S) and not self._is_over(start_ms):
                publisher.check()
                while not publisher.actions.empty():
                    action = publisher.actions.get()
                    self.terminal.say_wrapped(*output.action(action.due_ms, action.group, action.action))
                self._print_news()
        finally:
            publisher.stop()
            self.records = publisher.output.records
        self._finish()

    def _publisher(self, start_ms: int) -> Publisher:
        """Make the publisher, which plays events and serves metrics like a collector."""
        source = self.config.source
        collector = PlayedCollector(len(self.scenarios) + len(GROUPS) + 1, ROUND_MS)
        publisher = Publisher(source.bootstrap_servers, source.topic, self._schedule(start_ms), collector.take)
        exposed = CollectorExposed(
            lambda: [collector.counts], self.config.metrics.series_limit, publisher.output, now_ms
        )
        start_serving(host_and_port(self.collector), Exposed("collect", [exposed.series], exposed.troubles), self.stop)
        return publisher

    def _schedule(self, start_ms: int) -> Iterator[Scheduled]:
        """The recordings, and the simulated fleet and a group of gRPC clients beside them."""
        fleet, popping = simulated_schedule(self.templates, start_ms), popping_schedule(start_ms)
        return heapq.merge(schedule(self.scenarios, start_ms), fleet, popping, key=lambda one: one.due_ms)

    def _print_introduction(self, start_ms: int) -> None:
        self.terminal.say()
        for scenario in self.scenarios:
            self.terminal.say(f"{CLUSTER}/{scenario.group}: {scenario.plan.about}")
        first, last = GROUPS[0], GROUPS[-1]
        self.terminal.say(
            f"{CLUSTER}/{first} to {last}: {len(GROUPS)} simulated groups; each minute something happens to one"
        )
        self.terminal.say(f"{CLUSTER}/{POPPING_GROUP}: gRPC clients behind two proxies; later nobody polls {CUT_OFF}")
        until = "Ctrl-C ends it" if self.seconds is None else f"It ends after {self.seconds:g} s"
        clock = time.strftime("%H:%M:%S", time.localtime(start_ms / 1000))
        self.terminal.say(f"Playing from {clock} on. {until}. (done) is what was really done.\n")
        self.terminal.say_wrapped(f"In a browser: {self._pages}", "bold")
        for line in TO_LOOK_AT:
            self.terminal.say_wrapped(f"{'':13} {line}")
        # of the job with its notifier, of the player, and of the web pages
        addresses = (self.config.metrics.listen, self.collector, self.config.web.listen)
        self.terminal.say_wrapped(f"For Prometheus: {', '.join(f'http://{one}/metrics' for one in addresses)}")
        self.terminal.say_wrapped(f"Pages to people on call go to {self._page_log.baseFilename}\n")

    def _is_over(self, start_ms: int) -> bool:
        return self.seconds is not None and now_ms() >= start_ms + self.seconds * 1000

    def _print_news(self) -> None:
        """Print facts that were committed, and pages that were sent, since the last call."""
        facts = self._facts.new()
        if self.output is not None:
            for line in self.output.lines_for(facts):
                self.terminal.say_wrapped(*line)
            for title in self._page_log.new_titles():
                self.terminal.say_wrapped(*self.output.page(now_ms(), title))

    def _finish(self) -> None:
        """Wait for the facts of all played events and print them; after Ctrl-C do not wait."""
        if not self.stop.is_set():
            with self.terminal.step("Waiting for the job to catch up"):
                self._wait_until_all_is_read()
        self.terminal.say("Stopping ...", "dim")

    def _wait_until_all_is_read(self) -> None:
        """Wait until by the newest commit the job has read every record; a health fact causes a commit in time."""
        deadline = time.monotonic() + FINISH_WITHIN_S
        self._print_news()
        while records_read(self.tables / FACTS.name) < self.records and not self.stop.wait(POLL_S):
            self._print_news()
            if time.monotonic() > deadline:
                self.terminal.say(f"not done within {FINISH_WITHIN_S} s: going on without", "yellow")
                return


class _Note(Struct):
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)


_note_decoder = msgspec.json.Decoder(_Note)


def records_read(facts: Path) -> int:
    """The number of records that the job had read at its last commit of facts, by its note in Delta's log."""
    if not DeltaTable.is_deltatable(str(facts)):
        return 0
    said = DeltaTable(str(facts)).history(1)[0].get("userMetadata")
    return 0 if said is None else sum(_note_decoder.decode(said).offsets.get(TOPIC, {}).values())


class StderrToFile:
    """Redirects standard error to a file from ``begin`` to ``end``. Java that starts in between keeps writing there.

    Spark's messages are of no use to a reader of the demo.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own: int | None = None

    def begin(self) -> None:
        sys.stderr.flush()
        self._own = os.dup(STDERR)
        with self._path.open("ab") as log:
            os.dup2(log.fileno(), STDERR)

    def end(self) -> None:
        """Restore this process's standard error. A second call does nothing."""
        if self._own is not None:
            sys.stderr.flush()
            os.dup2(self._own, STDERR)
            os.close(self._own)
            self._own = None

    def show_last(self) -> None:
        """Print the last lines of the file."""
        lines = self._path.read_text(errors="replace").splitlines(keepends=True)
        sys.stderr.writelines(lines[-SHOWN_LINES:])
