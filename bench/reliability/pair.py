"""A job and its standby on S3, each with networks of its own, and what they write there."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from bench.reliability.proxy import Proxy
from bench.reliability.stage import TOPIC, Stage
from testing.hook import RULES
from testing.http_server import Server
from testing.job import EVENKEEL, QUICK_JAVA, child_environment
from testing.process_session import kill_all, processes
from testing.stores.jars import hadoop_aws_jars
from testing.stores.servers import BUCKET, MINIO, REGION, LoopbackStore

COLLECTOR = 0  # of the askers of the stage; the jobs are the others
JOBS = (1, 2)
FOLDER = f"{BUCKET}/pair"
FACTS, BATCHES = "tables/facts/_delta_log/", "checkpoint/commits/"
_WRITTEN = re.compile(
    rb"PUT /%b/((?:tables/facts/_delta_log/\d{20}\.json)|(?:checkpoint/(?:offsets|commits)/\d+))[ ?]" % FOLDER.encode()
)
HEALTH_S = 5  # between two commits of facts, where no group changes
PATIENT_S = 600  # of the notifier's own troubles: these are no pages here


class Write(NamedTuple):
    """A file that a job wrote: one that is a commit. ``at_s``: monotonic, when the store began to get it."""

    at_s: float
    name: str
    life: int


@dataclass
class Life:
    """One process of a job, from its start to its end. It reaches the store by a proxy that no other one has."""

    number: int
    job: int
    began_s: float
    log: Path
    to_store: Proxy
    process: "subprocess.Popen[bytes]"
    took_over_s: float | None = None  # when its log said so, to half a second

    def is_running(self) -> bool:
        return self.process.poll() is None

    def said(self, text: str) -> bool:
        return text in self.log.read_text(errors="replace")


@dataclass
class Pair:
    """Both jobs, for the length of a ``with`` block. Their pages go to ``hook``."""

    stage: Stage
    folder: Path
    hook: Server
    writes: list[Write] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    newest: dict[int, Life] = field(default_factory=dict)  # by job

    def __post_init__(self) -> None:
        self.store = LoopbackStore(MINIO)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._ending = ExitStack()

    def __enter__(self) -> "Pair":
        with ExitStack() as ending:
            ending.enter_context(self.store)
            self._thread.start()
            ending.callback(self._end_loop)
            ending.callback(self._end_jobs)
            rules = RULES.format(url=self.hook.url, blind_s=PATIENT_S, late_s=PATIENT_S)
            (self.folder / "alerts.toml").write_text(rules)
            self._ending = ending.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.close()

    def _end_jobs(self) -> None:
        for life in self.newest.values():
            kill_all(life.process)

    def _end_loop(self) -> None:
        for life in self.lives:
            asyncio.run_coroutine_threadsafe(life.to_store.stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- the jobs

    def start(self, job: int) -> None:
        number = len(self.lives)

        def asked(data: bytes) -> None:
            for found in _WRITTEN.finditer(data):
                self.writes.append(Write(time.monotonic(), found[1].decode(), number))

        to_store = Proxy(self.store.endpoint.removeprefix("http://"), asked)
        endpoint = "http://" + asyncio.run_coroutine_threadsafe(to_store.start(), self._loop).result(30)
        config, log = self.folder / f"job-{job}.toml", self.folder / f"job-{job}-{number}.log"
        config.write_text(self._configured(job, endpoint))
        environment = {**child_environment(), **self.store.environment, "AWS_ENDPOINT_URL": endpoint}
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*EVENKEEL, "run", "--config", str(config), "--standby"], cwd=self.folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True,
            )  # fmt: skip
        self.newest[job] = Life(number, job, time.monotonic(), log, to_store, process)
        self.lives.append(self.newest[job])

    def _configured(self, job: int, endpoint: str) -> str:
        sections: Mapping[str, Mapping[str, object]] = {
            "source": {"topic": TOPIC, "bootstrap_servers": self.stage.kafka_address(job)},
            "tables": {"path": f"s3a://{FOLDER}/tables"},
            "job": {
                "checkpoint": f"s3a://{FOLDER}/checkpoint", "shards": 2, "trigger_seconds": 2,
                "health_seconds": HEALTH_S,
            },
            "notify": {"alerts": str(self.folder / "alerts.toml"), "state": str(self.folder / "notify")},
            "spark": {"master": "local[2,4]"},
            "spark.settings": {
                "spark.driver.extraJavaOptions": QUICK_JAVA,
                "spark.sql.shuffle.partitions": 2,
                "spark.jars": ",".join(map(str, hadoop_aws_jars())),
                "spark.hadoop.fs.s3a.endpoint": endpoint,
                "spark.hadoop.fs.s3a.endpoint.region": REGION,
                "spark.hadoop.fs.s3a.path.style.access": "true",
            },
        }  # fmt: skip
        return "\n".join(
            "\n".join([f"[{name}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in keys.items())])
            for name, keys in sections.items()
        )

    def restart_ended(self) -> None:
        """As a service of systemd does."""
        for job, life in list(self.newest.items()):
            if not life.is_running():
                kill_all(life.process)
                self.start(job)

    # --- what faults do

    def pause(self, life: Life, with_java: bool) -> None:
        self._signal(life, signal.SIGSTOP, with_java)

    def go_on(self, life: Life, with_java: bool) -> None:
        self._signal(life, signal.SIGCONT, with_java)

    def _signal(self, life: Life, number: signal.Signals, with_java: bool) -> None:
        for pid in processes(life.process.pid) if with_java else [life.process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def cut(self, life: Life) -> None:
        self._loop.call_soon_threadsafe(life.to_store.cut)

    def mend(self, life: Life) -> None:
        self._loop.call_soon_threadsafe(life.to_store.mend)

    # --- what is seen

    def writer(self) -> Life:
        """The life that wrote the newest facts."""
        return self.lives[self.written(FACTS)[-1].life]

    def written(self, folder: str, since_s: float = 0) -> Sequence[Write]:
        """The commits in this folder."""
        return [one for one in list(self.writes) if one.at_s >= since_s and one.name.startswith(folder)]

    def wait_until_settled(self, since_s: float, within_s: float) -> bool:
        """Returns whether in time one has ended two batches since ``since_s``, and the other is ready to take over."""
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s:
            self.look()
            self.restart_ended()
            if self._is_settled(since_s):
                return True
            time.sleep(0.5)
        return False

    def look(self) -> None:
        for life in self.newest.values():
            if life.took_over_s is None and life.said("the job takes over from"):
                life.took_over_s = time.monotonic()

    def _is_settled(self, since_s: float) -> bool:
        batches = self.written(BATCHES, since_s)
        if len(batches) < 2 or not self.written(FACTS, since_s):
            return False
        writer = self.lives[batches[-1].life]
        others = [life for life in self.newest.values() if life is not writer]
        return self.newest[writer.job] is writer and all(one.said("standby: Spark has started") for one in others)


def by_two(writes: Sequence[Write]) -> list[Write]:
    """The commits of a life after the first one of a life that began to write later. There are to be none."""
    seen: list[int] = []
    found = []
    for one in sorted(writes):
        if one.life not in seen:
            seen.append(one.life)
        elif one.life != seen[-1]:
            found.append(one)
    return found
