"""The environment of a measurement: a Kafka broker, a Spark session and a folder, all removed afterwards."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from threading import Event, Thread
from types import TracebackType
from typing import NamedTuple

import psutil
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from bench.results import say
from streaming.config.load import load_config
from streaming.config.sections import Config
from streaming.loopback import LoopbackKafka
from streaming.spark.health import BatchSummary
from streaming.spark.job import QUERY_NAME, Plan, plan_of, run
from streaming.spark.job_counts import JobCounts
from streaming.spark.session import build_session

KAFKA_PARTITIONS = 4
ALL_PROGRESS = {"spark.sql.streaming.numRecentProgressUpdates": "10000"}
PATIENCE_S = 600


class Trigger(NamedTuple):
    """One batch of the job, as Spark reports it."""

    records: int
    seconds: float
    ended: float  # on the clock of time.time()
    steps_ms: dict[str, int]


class RecordsRead(JobCounts):
    """The counts of the job, with the records of finished batches."""

    def __init__(self) -> None:
        super().__init__()
        self.records = self._at_hand = 0

    def add(self, batch: BatchSummary, now_ms: int) -> None:
        super().add(batch, now_ms)
        self._at_hand = sum(one.records for report in batch.reports for one in report.read)

    def ended(self, took_s: float, now_ms: int) -> None:
        super().ended(took_s, now_ms)
        self.records, self._at_hand = self.records + self._at_hand, 0


@dataclass(frozen=True, slots=True)
class Environment:
    folder: Path
    kafka: LoopbackKafka
    spark: SparkSession
    others: set[int]  # children of this process that do not belong to the job

    def plan(self, topic: str, folder: str | None = None, **keys: object) -> Plan:
        return plan_of(self.config(topic, folder, **keys))

    def config(self, topic: str, folder: str | None = None, **keys: object) -> Config:
        """The default configuration, with checkpoint and tables in a folder with the topic's name, or another."""
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
        spark = build_session("evenkeel-bench", ALL_PROGRESS)
        try:
            yield Environment(Path(folder), kafka, spark, others)
        finally:
            spark.stop()


def triggers_of(query: StreamingQuery) -> list[Trigger]:
    """The triggers that read records. A listener would get each at once, but takes a tenth of Java's time."""
    return [
        Trigger(
            progress.numInputRows,
            (took_s := progress.durationMs["triggerExecution"] / 1000),
            datetime.strptime(progress.timestamp, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() + took_s,
            dict(progress.durationMs),
        )
        for progress in query.recentProgress
        if progress.numInputRows
    ]


class Running:
    """The job in a thread during a ``with`` block. ``triggers`` are set at its end."""

    def __init__(self, environment: Environment, plan: Plan) -> None:
        self._environment, self._plan = environment, plan
        self._stop, self._started = Event(), Event()
        self._error: BaseException | None = None
        self._read = RecordsRead()
        self.triggers: list[Trigger] = []
        self._thread = Thread(target=self._run, name="job")

    def _run(self) -> None:
        try:
            run(self._environment.spark, self._plan, self._stop, self._started.set, self._read)
        except BaseException as error:
            self._error = error

    def wait_for(self, records: int) -> None:
        """Wait until the job has read this number of records."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read.records < records:
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"the job read {self._read.records} of {records} records in {PATIENCE_S} s")
            time.sleep(0.1)

    def check(self) -> None:
        if not self._thread.is_alive():
            raise RuntimeError("the job ended by itself") from self._error

    def __enter__(self) -> "Running":
        self._thread.start()
        while not self._started.wait(0.05):
            self.check()
        (self._query,) = (one for one in self._environment.spark.streams.active if one.name == QUERY_NAME)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if kind is None and self._error is not None:
            raise self._error
        self.triggers = triggers_of(self._query)


class Usage:
    """The memory and CPU time of this process, its Java and its Python workers during the block."""

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
        """The CPU seconds of Java and of Python, over all cores."""
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
    """The medians of the steps of a trigger, as Spark reports them."""
    names = sorted({name for trigger in triggers for name in trigger.steps_ms})
    return ", ".join(f"{name} {median(t.steps_ms.get(name, 0) for t in triggers):.0f} ms" for name in names)


def tell(label: str, triggers: list[Trigger]) -> None:
    shown = " ".join(f"{trigger.records}/{trigger.seconds:.2f}s" for trigger in triggers)
    say(f"{label}: {shown}; {steps_in_words(triggers)}")
