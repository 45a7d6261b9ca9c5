"""What a measurement of the job stands on: a Kafka broker, a Spark session and a folder, all gone afterwards."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event, Thread
from types import TracebackType
from typing import NamedTuple

import psutil
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from bench.results import say
from streaming.config import Config, load_config
from streaming.loopback import LoopbackKafka
from streaming.spark.job import QUERY_NAME, Plan, plan_of, run
from streaming.spark.session import build_session

KAFKA_PARTITIONS = 4
PATIENCE_S = 600


class Trigger(NamedTuple):
    """One batch of the job, as Spark accounts for it."""

    records: int
    seconds: float
    ended: float  # by the clock of time.time()
    steps_ms: dict[str, int]


class Watch(StreamingQueryListener):
    """Collects the batches of each query that had records to read, by the query's name."""

    def __init__(self) -> None:
        self.of: dict[str, list[Trigger]] = {}

    def onQueryStarted(self, event: object) -> None: ...

    def onQueryIdle(self, event: object) -> None: ...

    def onQueryTerminated(self, event: object) -> None: ...

    def onQueryProgress(self, event: object) -> None:
        progress = event.progress  # type: ignore[attr-defined]
        if progress.numInputRows:
            steps = dict(progress.durationMs)
            trigger = Trigger(progress.numInputRows, steps["triggerExecution"] / 1000, time.time(), steps)
            self.of.setdefault(progress.name, []).append(trigger)

    @property
    def triggers(self) -> list[Trigger]:
        """Of the job."""
        return self.of.setdefault(QUERY_NAME, [])


@dataclass(frozen=True, slots=True)
class Environment:
    folder: Path
    kafka: LoopbackKafka
    spark: SparkSession
    watch: Watch
    others: set[int]  # children of this process that are not the job's

    def plan(self, topic: str, folder: str | None = None, **keys: object) -> Plan:
        return plan_of(self.config(topic, folder, **keys))

    def config(self, topic: str, folder: str | None = None, **keys: object) -> Config:
        """The defaults, with a checkpoint and tables in a folder of the topic's name, or another."""
        home = self.folder / (folder or topic)
        values = {
            "source__topic": topic,
            "source__bootstrap_servers": self.kafka.bootstrap_servers,
            "tables__path": home / "tables",
            "job__checkpoint": home / "checkpoint",
            **keys,
        }
        variables = {f"EVENKEEL__{name.upper()}": str(value) for name, value in values.items()}
        return load_config(None, variables)

    def create_topic(self, topic: str) -> None:
        self.kafka.create_topic(topic, KAFKA_PARTITIONS, {"message.timestamp.type": "LogAppendTime"})


@contextmanager
def environment() -> Iterator[Environment]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, LoopbackKafka() as kafka:
        others = {process.pid for process in psutil.Process().children()}
        spark = build_session("evenkeel-bench")
        watch = Watch()
        spark.streams.addListener(watch)
        try:
            yield Environment(Path(folder), kafka, spark, watch, others)
        finally:
            spark.stop()


class Running:
    """The job in a thread, from the first to the last line of a ``with`` block."""

    def __init__(self, environment: Environment, plan: Plan) -> None:
        self._environment, self._plan = environment, plan
        self._stop, self._started = Event(), Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="job")

    def _run(self) -> None:
        try:
            run(self._environment.spark, self._plan, self._stop, self._started.set)
        except BaseException as error:
            self._error = error

    def wait_for(self, records: int, begun: int) -> None:
        """Until so many records have been read since the job's trigger number ``begun``."""
        deadline = time.monotonic() + PATIENCE_S
        while (read := sum(trigger.records for trigger in self._environment.watch.triggers[begun:])) < records:
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"the job read {read} of {records} records in {PATIENCE_S} s")
            time.sleep(0.2)

    def check(self) -> None:
        if not self._thread.is_alive():
            raise RuntimeError("the job ended by itself") from self._error

    def __enter__(self) -> "Running":
        self._thread.start()
        while not self._started.wait(0.05):
            self.check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if kind is None and self._error is not None:
            raise self._error


class Usage:
    """What this process, its Java and its Python workers take while the block lasts: memory, and time of the cores."""

    def __init__(self, others: set[int]) -> None:
        self._others = others
        self._end = Event()
        self._thread = Thread(target=self._sample, name="usage")
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._java: set[int] = set()
        self.peak_mb = 0.0

    def _sample(self) -> None:
        while not self._end.wait(0.5):
            self._look()

    def _look(self) -> None:
        waiting, total = [psutil.Process()], 0
        while waiting:
            process = waiting.pop()
            try:
                total += process.memory_info().rss
                times = process.cpu_times()
                if process.name() == "java":
                    self._java.add(process.pid)
                self._last[process.pid] = times.user + times.system
                self._first.setdefault(process.pid, times.user + times.system)
                waiting += [child for child in process.children() if child.pid not in self._others]
            except psutil.NoSuchProcess:
                continue
        self.peak_mb = max(self.peak_mb, total / 2**20)

    def cpu_s(self) -> tuple[float, float]:
        """Seconds of all cores: Java's, and Python's."""
        spent = {pid: self._last[pid] - self._first[pid] for pid in self._last}
        java = sum(seconds for pid, seconds in spent.items() if pid in self._java)
        return java, sum(spent.values()) - java

    def __enter__(self) -> "Usage":
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        self._look()


def steps_in_words(triggers: list[Trigger]) -> str:
    """Medians of what Spark says a trigger's time went into."""
    names = sorted({name for trigger in triggers for name in trigger.steps_ms})
    return ", ".join(f"{name} {median(t.steps_ms.get(name, 0) for t in triggers):.0f} ms" for name in names)


def tell(label: str, triggers: list[Trigger]) -> None:
    shown = " ".join(f"{trigger.records}/{trigger.seconds:.2f}s" for trigger in triggers)
    say(f"{label}: {shown}; {steps_in_words(triggers)}")
