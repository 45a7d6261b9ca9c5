"""The fast part: the events of a simulated month as fast as the job takes them, with faults, on virtual days.

The month ends now, because no event may come from the future. So the tables have a month of days. After each of them
maintenance runs as if it were that day, and everything is kept for seven days.
"""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Event
from typing import Any

from bench.endure.fast_job import FastJob, Work
from bench.endure.fleet import Fleet, FleetPlan
from bench.endure.programs import KAFKA_KEEPS, PARTITIONS, Recording, stop_by_signals, write_toml
from bench.endure.samples import Commits, Figures, of_folders, of_job, of_kafka, spark_metrics
from bench.results import say
from streaming.loopback.kafka import LoopbackKafka

TOPIC = "month"
DAYS, ROUND_S = 30, 30  # 17,280,000 rounds of 200 groups
A_SHARE, AHEAD = 10_000, 40_000  # rounds that are sent at a time, and that may wait in Kafka
LOOK_S = 0.5
SENT = "feed.rounds"


def run_fast(folder: Path, recording: Recording, groups: int, start_ts: int, stop: Event) -> None:
    """Run until the month is over, the recording is over, or ``stop``. Raises MonitorError if the job fails."""
    is_new = not (folder / "checkpoint").exists()
    with LoopbackKafka(folder / "kafka") as kafka:
        if is_new:
            kafka.create_topic(TOPIC, PARTITIONS, KAFKA_KEEPS)
        config = _configure(folder, kafka.bootstrap_servers)
        plan = FleetPlan(groups, ROUND_S, start_ts, kafka.bootstrap_servers, TOPIC)
        with FastJob(config) as job, Fleet(plan) as fleet:
            month = _Month(folder, job, fleet, int(recording.last.get(SENT, 0)), start_ts)
            job.wait_until_started()
            say("the fast run has begun")
            stop_by_signals(stop)
            recording.begin()
            while not (month.is_over or recording.is_over or stop.wait(LOOK_S)):
                month.go_on()
                if recording.is_due:
                    recording.write(month.figures())
            recording.write(month.figures())
            job.stop()


class _Month:
    """The month: what was sent of it, and how far the job is."""

    def __init__(self, folder: Path, job: FastJob, fleet: Fleet, sent: int, start_ts: int) -> None:
        self._folder, self._job, self._fleet = folder, job, fleet
        self._sent, self._before = sent, sent
        self._began = datetime.fromtimestamp(start_ts / 1000, timezone.utc)
        self._now = datetime.fromtimestamp(fleet.skip(sent) / 1000, timezone.utc)
        self._maintained = self._now.date()
        self._commits = Commits(folder / "tables" / "facts")
        self._work = Work(0, 0, 0.0)

    @property
    def is_over(self) -> bool:
        return self._now >= self._began + timedelta(days=DAYS)

    def go_on(self) -> None:
        """Send rounds while few wait, and maintain after each virtual day."""
        read = self._job.work().records
        while self._sent - self._before - read + A_SHARE <= AHEAD and not self.is_over:
            self._now = datetime.fromtimestamp(self._fleet.send(A_SHARE) / 1000, timezone.utc)
            self._sent += A_SHARE
        if self._now.date() > self._maintained:
            self._job.maintain(self._now)
            self._maintained = self._now.date()

    def figures(self) -> Figures:
        before, self._work = self._work, self._job.work()
        found: Figures = {
            SENT: self._sent,
            "feed.days": (self._now - self._began) / timedelta(days=1),
            "run.batches": self._work.batches,
            "run.rounds": self._work.records,
        }
        if self._work.batches > before.batches:
            found["run.batch_s"] = (self._work.seconds - before.seconds) / (self._work.batches - before.batches)
        found |= of_job(self._job.pid, self._folder) | of_kafka() | of_folders(self._folder)
        return found | {"facts.commits": self._commits.look()["facts.commits"]}


def _configure(folder: Path, kafka: str) -> Path:
    """The defaults, but for places, and maintenance, which the run does itself."""
    file = folder / "evenkeel.toml"
    values: dict[str, dict[str, Any]] = {
        "source": {"topic": TOPIC, "bootstrap_servers": kafka},
        "tables": {"path": str(folder / "tables")},
        "job": {"checkpoint": str(folder / "checkpoint"), "maintenance": False},
        "spark.settings": spark_metrics(folder),
    }
    write_toml(file, values)
    return file
