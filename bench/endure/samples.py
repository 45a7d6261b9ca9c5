"""The figures of a moment: of processes, of folders, of the facts' commits, and of what Spark and evenkeel expose."""

import csv
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

import psutil

from bench.endure.hotspot import MB, counters, memory
from bench.endure.programs import EVERY_S
from bench.machine import plain_loop_s
from streaming.spark.session import TRIMMED

SPARK_METRICS = "spark-metrics"
SPARK_PERIOD_S = 10
LOOP_TURNS = 200_000  # some 10 ms
POOL = "tokio-rt-worker"  # deltalake's threads, as many as it once needed at the same time: they end if idle for 10 s
# Java's heap has its full size (`spark.driver.memory`) from the start, and all of it is in memory. Else memory goes
# with the moment of the last collection, and hides what grows beside the heap. Leaks in the heap show all the same.
WHOLE_HEAP = "-Xms2g -XX:+AlwaysPreTouch"
STALE_S = 120.0  # a value of Spark's that is older says nothing about now
OF_JVM = {"direct_mb": "*.jvm.direct.used.csv", "code_mb": "*.jvm.pools.Code*.committed.csv"}  # Spark's metrics, bytes
Figures = dict[str, float | None]


def of_machine() -> Figures:
    """How fast the machine is, and how busy all its cores have been since the last call."""
    return {"machine.loop_ms": plain_loop_s(LOOP_TURNS) * 1000, "machine.busy_percent": psutil.cpu_percent()}


def of_process(name: str, pid: int) -> Figures:
    """Resident memory, threads, file descriptors, and the processor time that it and its ended children have taken;
    nothing if it has ended. deltalake's threads, if any, apart.
    """
    with suppress(psutil.NoSuchProcess):
        one, threads = psutil.Process(pid), _names_of_threads(pid)
        pool = threads.count(POOL)
        found: Figures = {f"{name}.pool_threads": pool} if pool else {}
        with one.oneshot():
            found |= {f"{name}.rss_mb": one.memory_info().rss / MB, f"{name}.fds": one.num_fds()}
            found[f"{name}.cpu_s"] = sum(one.cpu_times()[:4])
        return found | {f"{name}.threads": len(threads) - pool}
    return {}


def of_job(pid: int, folder: Path) -> Figures:
    """Of `evenkeel run`: its Java, the Python workers, the process of the projections, and the last triggers."""
    found, metrics = of_process("run", pid), folder / SPARK_METRICS
    for child in _children(pid):
        if "streaming.projections.process" in child.command:
            found |= of_process("projections", child.pid)
        elif child.name == "java":
            found |= _of_java(child.pid, metrics) | _of_workers(child.pid)
    trigger_ms = mean_of_spark(metrics, "*.spark.streaming.*.latency.csv")
    return found | {"run.trigger_s": None if trigger_ms is None else trigger_ms / 1000}


class Spent:
    """The processor time of a process and of all below it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._each: dict[int, float] = {}
        self.look()

    def look(self) -> float:
        """The seconds since the last look."""
        before, self._each = self._each, dict(self._now())
        return sum(seconds - before.get(pid, 0.0) for pid, seconds in self._each.items())

    def _now(self) -> Iterator[tuple[int, float]]:
        with suppress(psutil.NoSuchProcess):
            top = psutil.Process(self._pid)
            for one in (top, *top.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    times = one.cpu_times()
                    yield one.pid, times.user + times.system


def of_kafka() -> Figures:
    """Of the broker that this process has started."""
    for child in _children(os.getpid(), recursive=True):
        if child.name == "java" and " kafka.Kafka " in child.command:
            return of_process("kafka", child.pid)
    return {}


def of_folders(folder: Path) -> Figures:
    """All that a run writes below its folder."""
    found: Figures = {}
    for name in ("checkpoint", "scratch", "logs", "state"):
        found |= of_folder(name, folder / name)
    return found | of_tables(folder / "tables")


def spark_metrics(folder: Path) -> dict[str, str]:
    """Settings by which Spark writes figures of Java and of the query, and has its temporary files in the folder."""
    sink, scratch = "spark.metrics.conf.driver.sink.csv", folder / "scratch"
    for one in (folder / SPARK_METRICS, scratch):
        one.mkdir(parents=True, exist_ok=True)
    return {
        "spark.local.dir": str(scratch),
        "spark.driver.defaultJavaOptions": f"{TRIMMED} {WHOLE_HEAP} -Djava.io.tmpdir={scratch}",
        "spark.metrics.namespace": "evenkeel",
        "spark.metrics.conf.driver.source.jvm.class": "org.apache.spark.metrics.source.JvmSource",
        f"{sink}.class": "org.apache.spark.metrics.sink.CsvSink",
        f"{sink}.period": str(SPARK_PERIOD_S),
        f"{sink}.unit": "seconds",
        f"{sink}.directory": str(folder / SPARK_METRICS),
        "spark.sql.streaming.metricsEnabled": "true",
    }


def of_folder(name: str, folder: Path, log: str = "") -> Figures:
    """Files and megabytes of a folder; those in its part ``log`` apart."""
    apart: dict[bool, list[int]] = {False: [], True: []}
    for path, size in _files(folder):
        apart[bool(log) and log in path.relative_to(folder).parts].append(size)
    names = {False: f"{name}.", True: f"{name}.log_"}
    counted = {names[key]: sizes for key, sizes in apart.items() if log or not key}
    files: Figures = {f"{prefix}files": len(sizes) for prefix, sizes in counted.items()}
    return files | {f"{prefix}mb": sum(sizes) / MB for prefix, sizes in counted.items()}


def of_tables(tables: Path) -> Figures:
    found: Figures = {}
    for folder in sorted(tables.iterdir()) if tables.exists() else ():
        if (folder / "_delta_log").is_dir():
            found |= of_folder(f"tables.{folder.name}", folder, "_delta_log")
    return found


class Commits:
    """The commits of the facts since the last look: how many there are, and how old their oldest fact was."""

    def __init__(self, facts: Path) -> None:
        self._log = facts / "_delta_log"
        self._newest = max(self._versions(), default=-1)

    def look(self) -> Figures:
        new = sorted(version for version in self._versions() if version > self._newest)
        ages = [age for version in new for age in self._ages(version)]
        self._newest = max(new, default=self._newest)
        found: Figures = {"facts.commits": self._newest + 1}
        if len(ages) > 1:
            hundredths = quantiles(ages, n=100, method="inclusive")
            found |= {"facts.latency_p50_s": hundredths[49], "facts.latency_p99_s": hundredths[98]}
        return found

    def _versions(self) -> Iterator[int]:
        for path in self._log.glob("*.json") if self._log.exists() else ():
            yield int(path.stem)

    def _ages(self, version: int) -> Iterator[float]:
        path = self._log / f"{version:020}.json"
        with suppress(FileNotFoundError):
            committed_s = path.stat().st_mtime
            for line in path.read_bytes().splitlines():
                added = json.loads(line).get("add")
                if added and added["dataChange"]:
                    yield from _oldest_fact_s(added, committed_s)


def total(text: str, name: str, labels: str = "") -> float | None:
    """The sum of all series of a name in Prometheus's text, of those with the text ``labels``; None: there is none."""
    begins = (f"{name} ", f"{name}{{")
    lines = (line for line in text.splitlines() if line.startswith(begins) and labels in line)
    found = [float(line.rpartition(" ")[2]) for line in lines]
    return sum(found) if found else None


def series(text: str) -> int:
    return sum(not line.startswith("#") for line in text.splitlines())


def of_spark(folder: Path, pattern: str) -> float | None:
    """The newest value that Spark's CSV sink has written for this metric; of several, their sum."""
    newest = [values[-1] for values in _values_of_spark(folder, pattern, STALE_S) if values]
    return sum(newest) if newest else None


def mean_of_spark(folder: Path, pattern: str) -> float | None:
    """The mean of what Spark's CSV sink has written for this metric within ``EVERY_S``, as far apart as lines are."""
    lately = [value for values in _values_of_spark(folder, pattern, EVERY_S) for value in values]
    return sum(lately) / len(lately) if lately else None


def _values_of_spark(folder: Path, pattern: str, within_s: float) -> Iterator[list[float]]:
    """Of each file the values that were written within so many seconds."""
    oldest = time.time() - within_s
    for file in folder.glob(pattern):
        values: list[float] = []
        with file.open() as rows:
            for row in csv.reader(rows):
                with suppress(ValueError, IndexError):  # the header, and a row that is only half written
                    if float(row[0]) > oldest:
                        values.append(float(row[1]))
        yield values


def _of_java(pid: int, metrics: Path) -> Figures:
    found = of_process("run.java", pid)
    of_heap = memory(counters(pid))
    found |= {f"run.java.{key}": value for key, value in of_heap.items()}
    for key, pattern in OF_JVM.items():
        size = of_spark(metrics, pattern)
        found[f"run.java.{key}"] = None if size is None else size / MB
    found["run.java.listener_queue"] = of_spark(metrics, "*.LiveListenerBus.queue.*.size.csv")
    sizes = [found.get(f"run.java.{key}") for key in ("rss_mb", "heap_committed_mb", "metaspace_mb", *OF_JVM)]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes):
        found["run.java.native_mb"] = known[0] - sum(known[1:])
    return found


def _of_workers(java: int) -> Figures:
    """Of the daemon that forks them, too. Java's other children are programs of a moment, which Hadoop starts."""
    workers = [child for child in _children(java, recursive=True) if "python" in child.name]
    each = [of_process("one", worker.pid) for worker in workers]
    found: Figures = {"run.workers.number": len(each)}
    for key in ("rss_mb", "threads", "fds", "cpu_s"):
        found[f"run.workers.{key}"] = sum(one.get(f"one.{key}") or 0.0 for one in each)
    return found


def _names_of_threads(pid: int) -> list[str]:
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/comm"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found.append(file.read_text().rstrip())
    return found


class _Child(NamedTuple):
    pid: int
    name: str
    command: str


def _children(pid: int, recursive: bool = False) -> Iterator[_Child]:
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive):
            with suppress(psutil.NoSuchProcess):
                yield _Child(child.pid, child.name(), " ".join(child.cmdline()))


def _oldest_fact_s(added: dict[str, str], committed_s: float) -> Iterator[float]:
    stats = json.loads(added.get("stats") or "{}")
    oldest = stats.get("minValues", {}).get("ts")
    if oldest:
        yield committed_s - datetime.fromisoformat(oldest.replace("Z", "+00:00")).timestamp()


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    waiting: Sequence[Path] = [folder]
    while waiting:
        inner: list[Path] = []
        for one in waiting:
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(one) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(Path(entry.path))
                        continue
                    with suppress(FileNotFoundError):  # deleted in the meantime
                        yield Path(entry.path), entry.stat(follow_symlinks=False).st_size
        waiting = inner
