"""``python -m bench.delays --version 5.3.3 --times 10``: the delay until a fault of a real RocketMQ is reported.

A real cluster of each version, real Java clients, ``evenkeel collect``, Kafka, ``evenkeel run`` with its own notifier,
and a webhook on loopback. The configuration is the default, except for Spark's resources and storms. One JSON on
stdout, progress on stderr. It is no stage of ``make bench``: it waits for RocketMQ's timers, half an hour and more.

Each fault is caused in a new group: an alert that has fired three times within an hour counts as one incident, so a
fourth would send no page. Faults run in parallel, in the given number of lanes.
"""

import argparse
import json
import os
import queue
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from threading import Thread
from typing import NamedTuple

from bench.delay_faults import BROKERS, FAULTS, QUEUES_EACH, Fault, Group
from bench.delay_figures import Page, Trial, figures, page_of
from bench.group_statuses import GroupStatuses
from bench.results import Tree, say
from streaming.loopback import LoopbackKafka
from streaming.wall_clock import now_ms
from testing.http_server import Server
from testing.job import Job
from testing.rocketmq.collecting import Collecting
from testing.rocketmq.jars import NEWEST, OLD_LINE
from testing.rocketmq.loopback import LoopbackRocketMQ

TOPIC = "events"
PARTITIONS = 3
MESSAGE_EVERY_MS = 2_000  # in each queue
HEALTHY_WITHIN_S = 300
LONGEST_PAUSE_S = 20  # before the fault: intervals of collectors and clients are 5 to 20 s
# Finished groups have no members, and still get messages: their pages must not count as a storm here.
RULES = """
[pages]
storm_groups = 10000

[[sinks]]
name = "hook"
kind = "webhook"
url = "{url}"
"""


class Watched(NamedTuple):
    """The sources that are read while the job runs."""

    webhook: Server
    statuses: GroupStatuses
    begin_until: float  # monotonic clock: no fault begins later


class Lane:
    """A sequence of faults of one kind at one cluster, in topics that the lane's groups share."""

    def __init__(self, cluster: LoopbackRocketMQ, fault: Fault, number: int) -> None:
        self._cluster = cluster
        self.fault = fault
        self.topics = [f"{fault.name}-{number}-{letter}" for letter in "TU"]
        self.trials: list[Trial] = []
        for topic in self.topics:
            cluster.create_topic(topic, dict.fromkeys(BROKERS, QUEUES_EACH))

    def run(self, numbers: "queue.SimpleQueue[int]", watched: Watched) -> None:
        """Run the faults that are left in ``numbers``, which lanes share."""
        while time.monotonic() < watched.begin_until:
            try:
                number = numbers.get_nowait()
            except queue.Empty:
                return
            trial = self._try(f"{self.fault.name}-{number}", watched)
            self.trials.append(trial)
            say(f"{self._cluster.version} {_in_words(trial)}")

    def _try(self, name: str, watched: Watched) -> Trial:
        group = Group(self._cluster, name, self.topics)
        try:
            return self._trial(group, watched)
        except Exception as error:
            return Trial(name, self.fault.causes, error=f"{type(error).__name__}: {error}"[:300])
        finally:
            group.close()

    def _trial(self, group: Group, watched: Watched) -> Trial:
        cluster = cluster_name(self._cluster.version)
        self.fault.begin(group)
        group.wait_until_joined()
        is_healthy = lambda: watched.statuses.of(cluster, group.name) == "healthy"  # noqa: E731
        self._cluster.wait_until(is_healthy, f"{group.name} is healthy", HEALTHY_WITHIN_S)
        time.sleep(Random(f"{cluster} {group.name}").uniform(0, LONGEST_PAUSE_S))
        fault_ts = self.fault.strike(group)
        deadline = time.monotonic() + self.fault.watch_s
        while True:
            trial = self._so_far(group, watched.webhook, fault_ts)
            if trial.critical or time.monotonic() > deadline:
                return trial
            time.sleep(0.2)

    def _so_far(self, group: Group, webhook: Server, fault_ts: int) -> Trial:
        pages = tuple(_pages(webhook, cluster_name(self._cluster.version), group.name))
        return Trial(group.name, self.fault.causes, fault_ts, now_ms(), pages)


def _pages(webhook: Server, cluster: str, group: str) -> Iterator[Page]:
    """The pages of a group, in order."""
    for got in list(webhook.taken):
        notice = got.json
        if notice["cluster"] == cluster and group in notice["groups"]:
            yield page_of(notice, got.ts)


def _in_words(trial: Trial) -> str:
    if trial.error:
        return f"{trial.group}: {trial.error}"
    return f"{trial.group}: {'; '.join(_page_in_words(trial, page) for page in trial.pages) or 'no page'}"


def _page_in_words(trial: Trial, page: Page) -> str:
    after_s = (page.ts - trial.fault_ts) / 1000
    return f"{page.status} after {after_s:.1f} s, {page.severity} {page.cause} {' '.join(page.kinds)}"


def cluster_name(version: str) -> str:
    return f"rocketmq-{version}"


@contextmanager
def monitored(clusters: Sequence[LoopbackRocketMQ], folder: Path, minutes: float) -> Iterator[Watched]:
    """Run the collector and the job until the block ends."""
    with LoopbackKafka() as kafka, Server() as webhook:
        kafka.create_topic(TOPIC, PARTITIONS)
        alerts = folder / "alerts.toml"
        alerts.write_text(RULES.format(url=webhook.url))
        job = Job(folder, kafka.bootstrap_servers, TOPIC, _values(clusters, folder, alerts))
        try:
            job.start()
            job.wait_until(lambda: "watching" in job.log, "it had started")
            with Collecting(job.config, folder / "recording.jsonl.gz"), GroupStatuses(str(job.tables)) as statuses:
                yield Watched(webhook, statuses, time.monotonic() + minutes * 60)
            job.stop()
        finally:
            job.close()


def _values(clusters: Sequence[LoopbackRocketMQ], folder: Path, alerts: Path) -> dict[str, dict[str, object]]:
    """The configuration, with default values for the intervals that are shorter in tests."""
    return {
        "job": {"shards": 32, "trigger_seconds": 1, "projection_seconds": 5},
        "collector.clusters": {cluster_name(one.version): one.namesrv for one in clusters},
        "notify": {"alerts": str(alerts), "state": str(folder / "notifier")},
    }


def measure(versions: Sequence[str], times: int, lanes: int, minutes: float, folder: Path) -> Tree:
    """Measure. ``folder`` gets the job's tables and logs, and the recording."""
    with ExitStack() as stack:
        clusters = [stack.enter_context(LoopbackRocketMQ(version)) for version in versions]
        tree: Tree = {"load_at_start": os.getloadavg()[0]}
        watched = stack.enter_context(monitored(clusters, folder, minutes))
        all_lanes = {one.version: _start(one, times, lanes, watched) for one in clusters}
        for version, running in all_lanes.items():
            for thread, _ in running:
                thread.join()
            tree[version] = _by_fault([lane for _, lane in running])
        tree["troubles_of_the_monitor"] = sorted({str(trouble) for trouble in _troubles(watched.webhook)})
    return tree | {"load_at_end": os.getloadavg()[0]}


def _start(cluster: LoopbackRocketMQ, times: int, count: int, watched: Watched) -> list[tuple[Thread, Lane]]:
    started = []
    for fault in FAULTS:
        numbers: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(times):
            numbers.put(number)
        for number in range(min(count, times)):
            lane = Lane(cluster, fault, number)
            started.append((Thread(target=lane.run, args=(numbers, watched), daemon=True), lane))
    cluster.producer([topic for _, lane in started for topic in lane.topics], MESSAGE_EVERY_MS)
    for thread, _ in started:
        thread.start()
    return started


def _by_fault(lanes: Sequence[Lane]) -> Tree:
    trials = [(lane.fault, trial) for lane in lanes for trial in lane.trials]
    return {fault.name: figures([trial for of, trial in trials if of is fault]) for fault in FAULTS}


def _troubles(webhook: Server) -> Iterator[str]:
    """The reported troubles of evenkeel itself, during which it sent no pages of groups."""
    for got in webhook.taken:
        notice = got.json
        trouble = notice["trouble"]
        if trouble:
            yield f"{trouble['kind']} {notice['cluster']} {notice['status']}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.delays", description="Measure how soon faults are told.")
    parser.add_argument("--version", action="append", choices=(NEWEST, OLD_LINE), help=f"of RocketMQ; default {NEWEST}")
    parser.add_argument("--times", type=int, default=10, help="how often each fault is brought about at each version")
    parser.add_argument("--lanes", type=int, default=2, help="how many groups of each fault there are at a time")
    parser.add_argument("--minutes", type=float, default=120, help="begin no fault later than this after the start")
    parser.add_argument("--keep", type=Path, help="a folder that keeps tables, logs and the recording")
    arguments = parser.parse_args()
    versions = arguments.version or [NEWEST]
    with tempfile.TemporaryDirectory(prefix="evenkeel-delays-") as scratch:
        folder = (arguments.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        tree = measure(versions, arguments.times, arguments.lanes, arguments.minutes, folder)
    print(json.dumps(tree, indent=2))
    return int(any(one["errors"] for version in versions for one in tree[version].values()))


if __name__ == "__main__":
    sys.exit(main())
