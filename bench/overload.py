"""``python -m bench.overload --groups 10000``: the job with its rated groups, with twice as many, and as before again.

A real Kafka, ``evenkeel run`` with its notifier, and a webhook. What the job says of itself is noted each second: its
triggers, its lag, ``/readyz`` and the notices of evenkeel's own troubles. One JSON goes to stdout. The exit status is 1
if a program ended, if the job was late and did not say so, or if it did not come back.
"""

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any, NamedTuple

import psutil
import requests

from bench.child import Child
from bench.endure.programs import EVENKEEL, KAFKA_KEEPS, PARTITIONS, Program, stop_by_signals, write_toml
from bench.endure.samples import total
from bench.machine import machine
from bench.results import say
from streaming.config.alerts import Monitor
from streaming.errors import MonitorError
from streaming.feed.feeding import Feed
from streaming.feed.outputs import KafkaFeed
from streaming.loopback.kafka import LoopbackKafka
from streaming.loopback.ports import free_port
from streaming.simulation.load.event_template import CLUSTER
from streaming.simulation.load.fleet_spec import FleetSpec, templates_for
from streaming.simulation.load.generated_fleet import generated_fleet
from streaming.wall_clock import now_ms
from testing.hook import RULES, Told
from testing.http_server import Server

TOPIC = "events"
MONITOR = Monitor()  # the defaults
LOOK_S = 1.0
STARTS_WITHIN_S = 1200
KNOWN_LAG_S = 15.0  # the groups are known, and the job keeps up
SOON_S = 30.0  # after the job is late, /readyz and a notice say so
SAYING = ("monitor_late", "monitor_blind")  # that the job is too slow; blind: a trigger takes more than 35 s
ABSURDLY_LONG_S = 7 * 86_400
BATCHES = "evenkeel_job_batch_duration_seconds"
NEWEST = f'evenkeel_job_newest_round_timestamp_seconds{{cluster="{CLUSTER}"}}'
MB = 1 << 20


class Seen(NamedTuple):
    """What a look at the job showed. ``trigger_s``: of the triggers that ended since the last look; None: none did."""

    at_s: float
    trigger_s: float | None
    lag_s: float | None
    rss_mb: float
    not_ready: str


class Load(Child):
    """Some of the groups, each round at its time, until the end of the ``with`` block."""

    def __init__(self, spec: FleetSpec, bootstrap_servers: str) -> None:
        super().__init__(_send, spec, bootstrap_servers)


def _send(pipe: Connection, spec: FleetSpec, bootstrap_servers: str) -> None:
    """First all groups are made known with few events, as those of a collector that has watched them for long."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    templates = templates_for(spec)
    start_ts = now_ms()
    fleet = generated_fleet(spec, templates, start_ts)
    with closing(KafkaFeed(bootstrap_servers, TOPIC, {})) as output:
        feed = Feed(output)
        feed.at_once(fleet.introduce(spec.groups), start_ts + ABSURDLY_LONG_S * 1000)
        for one in fleet.rounds:
            if pipe.poll():
                return
            feed.paced(iter([one]), one.ts + 1)


class Job:
    """The job, and what has been seen of it."""

    def __init__(self, run: Program, address: str, hook: Server) -> None:
        self._run, self._address, self.hook = run, address, hook
        self._began_s = time.monotonic()
        self._batches = (0.0, 0.0)
        self.seen: list[Seen] = []

    @property
    def at_s(self) -> float:
        return time.monotonic() - self._began_s

    def look(self) -> Seen:
        """Raises MonitorError if the job has ended."""
        self._run.require_running()
        text, readyz = self._asked("/metrics"), self._asked("/readyz")
        number, seconds = (total(text, f"{BATCHES}_{name}") or 0.0 for name in ("count", "sum"))
        before, self._batches = self._batches, (number, seconds)
        newest = total(text, NEWEST)
        self.seen.append(
            Seen(
                round(self.at_s, 1),
                (seconds - before[1]) / (number - before[0]) if number > before[0] else None,
                None if newest is None else time.time() - newest,
                _rss_mb(self._run.pid),
                "" if readyz == "ok" else readyz,
            )
        )
        return self.seen[-1]

    def watch(self, seconds: float, stop: Event) -> None:
        end_s = self.at_s + seconds
        while self.at_s < end_s and not stop.wait(LOOK_S):
            self.look()

    def wait_until_known(self) -> None:
        """Wait until the groups are known, and the job has read all of that."""
        while (lag_s := self.look().lag_s) is None or lag_s > KNOWN_LAG_S or self.seen[-1].not_ready:
            if self.at_s > STARTS_WITHIN_S:
                raise MonitorError(f"the job does not keep up with the rated groups after {STARTS_WITHIN_S} s")
            time.sleep(LOOK_S)

    def notices(self) -> list[dict[str, Any]]:
        """Those of evenkeel's own troubles: when, which, and whether it began or ended."""
        began_ms = (time.time() - self.at_s) * 1000
        troubles = [(got.ts, got.json) for got in list(self.hook.taken) if got.json["trouble"]]
        return [
            {
                "at_s": round((ts - began_ms) / 1000, 1), "status": one["status"], "kind": one["trouble"]["kind"],
                "why": one["trouble"]["why"], "cluster": one["cluster"],
            }
            for ts, one in troubles
        ]  # fmt: skip

    def _asked(self, path: str) -> str:
        try:
            return requests.get(self._address + path, timeout=10).text.strip()
        except requests.RequestException as error:
            return f"no answer: {type(error).__name__}"


def _rss_mb(pid: int) -> float:
    """Of the program with all that it has started."""
    found = 0
    for one in (parent := psutil.Process(pid), *parent.children(recursive=True)):
        try:
            found += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return found / MB


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.overload", description="Give the job more than it is for.")
    parser.add_argument("--groups", type=int, default=10_000, metavar="N", help="that are rated (default: %(default)s)")
    parser.add_argument("--times", type=int, default=2, metavar="N", help="as many in the midst (default: %(default)s)")
    parser.add_argument(
        "--minutes", type=float, nargs=3, default=[5, 10, 20], metavar="N", help="before, in the midst, at most after"
    )
    parser.add_argument(
        "--most-records", type=int, default=20_000, metavar="N", help="of a trigger: with few, few groups are too many"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("data/overload"), help="emptied first (default: %(default)s)"
    )
    arguments = parser.parse_args()
    try:
        figures = _measure(arguments.folder.resolve(), arguments)
    except MonitorError as error:
        say(str(error))
        return 1
    print(json.dumps(figures, indent=2))
    (arguments.folder / "overload.json").write_text(json.dumps(figures, indent=2))
    return int(bool(figures["wrong"]))


def _measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    stop, groups = Event(), arguments.groups
    before_s, midst_s, after_s = (60 * minutes for minutes in arguments.minutes)
    with _running(folder, arguments.most_records) as (job, bootstrap):
        with Load(FleetSpec(groups), bootstrap):
            job.wait_until_known()
            stop_by_signals(stop)
            say(f"{groups} groups are known after {job.at_s:.0f} s")
            ends_s = [job.at_s]
            job.watch(before_s, stop)
            ends_s.append(job.at_s)
            say(f"{arguments.times} times as many")
            with Load(FleetSpec((arguments.times - 1) * groups, first=groups), bootstrap):
                job.watch(midst_s, stop)
            ends_s.append(job.at_s)
            say("as before")
            usual_s = max(one.lag_s or 0 for one in _between(job.seen, *ends_s[:2]))
            while not stop.is_set() and job.at_s < ends_s[2] + after_s and not _is_back(job, usual_s):
                job.watch(LOOK_S, stop)
            back_s = job.at_s - ends_s[2] if _is_back(job, usual_s) else None
            ends_s.append(job.at_s)
        phases = {name: figures_of(job.seen, *ends_s[n : n + 2]) for n, name in enumerate(("before", "midst", "after"))}
        figures = {
            **machine(), "groups": groups, "times": arguments.times, "most_records": arguments.most_records,
            "phases": phases, "readyz": changes(job.seen), "notices": job.notices(),
            "back_s": None if back_s is None else round(back_s, 1),
        }  # fmt: skip
        return {**figures, "wrong": list(wrong(job.seen, figures))}


@contextmanager
def _running(folder: Path, most_records: int) -> Iterator[tuple[Job, str]]:
    """The job, which watches a topic that nothing has been written to yet."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        hook = stack.enter_context(Server())
        kafka = stack.enter_context(LoopbackKafka(folder / "kafka", ready_within_s=STARTS_WITHIN_S))
        kafka.create_topic(TOPIC, PARTITIONS, KAFKA_KEEPS)
        metrics = f"127.0.0.1:{free_port()}"
        (folder / "alerts.toml").write_text(
            RULES.format(url=hook.url, blind_s=MONITOR.blind_seconds, late_s=MONITOR.late_seconds)
        )
        source = {"topic": TOPIC, "bootstrap_servers": kafka.bootstrap_servers, "max_offsets_per_trigger": most_records}
        values: dict[str, dict[str, Any]] = {
            "source": source,
            "tables": {"path": str(folder / "tables")},
            "job": {"checkpoint": str(folder / "checkpoint")},
            "notify": {"alerts": str(folder / "alerts.toml"), "state": str(folder / "state" / "notifier")},
        }
        write_toml(folder / "evenkeel.toml", values)
        command = [*EVENKEEL, "run", "--config", str(folder / "evenkeel.toml"), "--metrics", metrics]
        run = Program("run", command, folder)
        stack.callback(run.stop)
        run.wait_for("watching", STARTS_WITHIN_S)
        yield Job(run, f"http://{metrics}", hook), kafka.bootstrap_servers


def _is_back(job: Job, usual_s: float) -> bool:
    """The lag is as before, the job is ready, and no trouble is open."""
    last = job.seen[-1]
    return last.lag_s is not None and last.lag_s <= usual_s and not last.not_ready and not Told(job.hook).open()


def _between(seen: list[Seen], from_s: float, to_s: float) -> list[Seen]:
    return [one for one in seen if from_s <= one.at_s <= to_s]


def figures_of(seen: list[Seen], from_s: float, to_s: float) -> dict[str, Any]:
    some = _between(seen, from_s, to_s)
    triggers = [one.trigger_s for one in some if one.trigger_s is not None]
    lags = [one.lag_s for one in some if one.lag_s is not None]
    return {
        "from_s": round(from_s), "to_s": round(to_s),
        "trigger_s": _spread(triggers), "lag_s": _spread(lags),
        "rss_mb_max": round(max((one.rss_mb for one in some), default=0)),
        "not_ready_share": round(sum(bool(one.not_ready) for one in some) / max(1, len(some)), 3),
    }  # fmt: skip


def _spread(values: list[float]) -> dict[str, float]:
    return {"p50": round(median(values), 2), "max": round(max(values), 2)} if values else {}


def changes(seen: list[Seen]) -> list[dict[str, Any]]:
    """When ``/readyz`` began to say what: each time that it became ready or not."""
    changed = [now for before, now in zip([None, *seen], seen, strict=False) if _differs(before, now)]
    return [{"at_s": one.at_s, "says": one.not_ready or "ok"} for one in changed]


def _differs(before: Seen | None, now: Seen) -> bool:
    return before is None or bool(before.not_ready) != bool(now.not_ready)


def wrong(seen: list[Seen], figures: dict[str, Any]) -> Iterator[str]:
    """A job that has been late for a while has said so; and all is as before at the end."""
    if figures["back_s"] is None:
        yield "the job has not come back"
    late = [one for one in seen if (one.lag_s or 0) > MONITOR.late_seconds]
    if late and late[-1].at_s - late[0].at_s > SOON_S:
        if not any(one.not_ready for one in late):
            yield "the job was late, and /readyz has not said so"
        if not any(one["kind"] in SAYING for one in figures["notices"]):
            yield "the job was late, and no notice has said so"


if __name__ == "__main__":
    sys.exit(main())
