"""The fast part: the events of a simulated month as fast as the job takes them, with faults, on virtual days.

The month ends now, because no event may come from the future. So the tables have a month of days. After each of them
maintenance runs as if it were that day, and everything is kept for seven days.
"""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from bench.endure.fast_job import FastJob, Work
from bench.endure.figures import DAY_S, HOUR_S
from bench.endure.fleet import Fleet, FleetPlan
from bench.endure.hotspot import MB
from bench.endure.measures import DAYS
from bench.endure.programs import KAFKA_KEEPS, PARTITIONS, Recording, stop_by_signals, write_toml
from bench.endure.samples import Commits, Figures, Spent, of_folders, of_job, of_kafka, of_machine, spark_metrics
from bench.results import say
from streaming.loopback.kafka import LoopbackKafka

TOPIC = "month"
MONTH_DAYS, ROUND_S = 30, 30  # 17,280,000 rounds of 200 groups
A_BATCH = 100  # rounds of each group, 50 virtual minutes, that a batch reads at most
A_SHARE, AHEAD = 50, 200  # rounds of each group that are sent at a time, and that may wait in Kafka
# RocksDB's cache may take longer to fill than the run lasts. With 256 MB, the default, with 128, and with 32, native
# memory was level late or never. With 8 the cache had at most 4.3, and native memory was level.
CACHE, CACHE_MB = "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", "8"
LOOK_S = 0.5
READ_WITHIN_S = 300  # what was sent, before the job stops: Kafka may have deleted it when another life begins
SENT = "feed.rounds"


def run_fast(folder: Path, recording: Recording, groups: int, start_ts: int, stop: Event) -> None:
    """Run until the month is over, the recording is over, or ``stop``. Raises MonitorError if the job fails."""
    is_new = not (folder / "checkpoint").exists()
    with LoopbackKafka(folder / "kafka") as kafka:
        if is_new:
            kafka.create_topic(TOPIC, PARTITIONS, KAFKA_KEEPS)
        config = _configure(folder, kafka.bootstrap_servers, groups)
        plan = FleetPlan(groups, ROUND_S, start_ts, kafka.bootstrap_servers, TOPIC)
        with FastJob(config) as job, Fleet(plan) as fleet:
            month = _Month(folder, job, fleet, groups, int(recording.last.get(SENT, 0)), start_ts)
            job.wait_until_started()
            say("the fast run has begun")
            stop_by_signals(stop)
            recording.begin()
            while not (month.is_over or recording.is_over or stop.wait(LOOK_S)):
                month.go_on()
                if recording.is_due:
                    recording.write(month.figures())
            month.wait_until_read()
            recording.write(month.figures())
            say(month.in_words(recording.life_s))
            job.stop()


class _Month:
    """The month: what was sent of it, and how far the job is."""

    def __init__(self, folder: Path, job: FastJob, fleet: Fleet, groups: int, sent: int, start_ts: int) -> None:
        self._folder, self._job, self._fleet = folder, job, fleet
        self._groups, self._share, self._ahead = groups, A_SHARE * groups, AHEAD * groups
        self._sent, self._before = sent, sent
        self._began = datetime.fromtimestamp(start_ts / 1000, UTC)
        self._now = datetime.fromtimestamp(fleet.skip(sent) / 1000, UTC)
        self._maintained = self._now.date()
        self._commits = Commits(folder / "tables" / "facts")
        self._work, self._spent = Work(), Spent(job.pid)

    @property
    def is_over(self) -> bool:
        """Whether the job has read all of the month."""
        return self._is_sent and self._is_read

    def wait_until_read(self) -> None:
        deadline = time.monotonic() + READ_WITHIN_S
        while not self._is_read and time.monotonic() < deadline:
            time.sleep(LOOK_S)

    def go_on(self) -> None:
        """Send rounds while few wait, and maintain after each virtual day."""
        read = self._job.work().records
        while self._sent - self._before - read + self._share <= self._ahead and not self._is_sent:
            self._now = datetime.fromtimestamp(self._fleet.send(self._share) / 1000, UTC)
            self._sent += self._share
        if self._now.date() > self._maintained:
            self._job.maintain(self._now)
            self._maintained = self._now.date()

    def figures(self) -> Figures:
        before, self._work = self._work, self._job.work()
        found: Figures = {
            SENT: self._sent,
            DAYS: self._days,
            "run.batches": self._work.batches,
            "run.rounds": self._work.records,
            "run.facts": self._work.facts,
            "run.state_mb": self._work.state_bytes / MB,
        }
        cache = self._job.rocksdb_bytes()
        found["run.java.rocksdb_mb"] = None if cache is None else cache / MB
        if self._work.batches > before.batches:
            found["run.batch_s"] = (self._work.seconds - before.seconds) / (self._work.batches - before.batches)
        if self._work.records > before.records:
            found["run.round_cpu_us"] = self._spent.look() / (self._work.records - before.records) * 1e6
        found |= of_job(self._job.pid, self._folder) | of_kafka() | of_folders(self._folder) | of_machine()
        return found | {"facts.commits": self._commits.look()["facts.commits"]}

    def in_words(self, took_s: float) -> str:
        """How fast this life went."""
        work = self._job.work()
        a_second, a_round = work.records / took_s, work.facts / max(1, work.records)
        days_an_hour = a_second / self._groups * ROUND_S * HOUR_S / DAY_S
        return f"{days_an_hour:.1f} virtual days an hour, {a_second:,.0f} rounds a second, {a_round:.2f} facts a round"

    @property
    def _days(self) -> float:
        return (self._now - self._began) / timedelta(days=1)

    @property
    def _is_read(self) -> bool:
        return self._job.work().records >= self._sent - self._before

    @property
    def _is_sent(self) -> bool:
        return self._days >= MONTH_DAYS


def _configure(folder: Path, kafka: str, groups: int) -> Path:
    """The defaults, but for places, RocksDB's cache, batches one after the other, and maintenance by the run itself."""
    file = folder / "evenkeel.toml"
    values: dict[str, dict[str, Any]] = {
        "source": {"topic": TOPIC, "bootstrap_servers": kafka, "max_offsets_per_trigger": A_BATCH * groups},
        "tables": {"path": str(folder / "tables")},
        "job": {"checkpoint": str(folder / "checkpoint"), "maintenance": False, "trigger_seconds": 0},
        "spark.settings": {**spark_metrics(folder), CACHE: CACHE_MB},
    }
    write_toml(file, values)
    return file
