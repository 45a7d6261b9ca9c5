"""The stage of the faults: a real Kafka, a collector on simulated brokers, the job, pages, a notifier and a webhook.

Each program that fails starts again after 10 s, as our units of systemd say. Everything is new in each session.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import requests
from deltalake import DeltaTable
from pyarrow import parquet

from bench.endure.brokers import Brokers, BrokersPlan
from bench.endure.disks import mounted, unmount
from bench.endure.ledger import Ledger
from bench.endure.programs import EVENKEEL, PARTITIONS, Program, environment, write_toml
from bench.results import say
from streaming.cli.exit_status import DONE, IN_USE
from streaming.config.alerts import Monitor
from streaming.core.shard import Record
from streaming.core.state.restore import SEED_TOPIC
from streaming.errors import MonitorError
from streaming.loopback.kafka import LoopbackKafka
from streaming.loopback.ports import free_port
from streaming.notifier.state_files import running_notifier
from streaming.projections.progress import read_progress
from streaming.spark.checkpoint import SEED_FOLDER
from testing.hook import RULES, Told
from testing.http_server import Answer, Server
from testing.job import QUICK_JAVA
from testing.process_session import processes

TOPIC, CLUSTER = "events", "asked"
ILL = 0  # number of the group that has a queue without a consumer all the time
DEPLOY_EVERY_S = 5.0  # so that new facts come every few seconds
RESTARTS_AFTER_S = 10.0  # RestartSec= of the units
NEVER_AGAIN = (0, 2)  # exit statuses after which systemd does not start it again
STARTS_WITHIN_S = 1200
TRIGGER_S = 20  # not the default, 1: several stages share a machine, and half of what a quiet job takes is triggers
LOOK_S = 0.5
COMMAND_WITHIN_S = 300  # maintenance of the job takes minutes on a machine that does other work
DISKS = ("tables", "checkpoint", "state", "logs")
RUN, COLLECT, WEB, NOTIFY = "run", "collect", "web", "notify"
MONITOR = Monitor()  # the defaults
UNAVAILABLE = 503


class Refused(MonitorError):
    """A program has ended, and does not start again by itself."""


class Service:
    """A program that starts again after it has failed."""

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name, self._command, self._folder = name, command, folder
        self.starts = 0
        self._ended_s: float | None = None
        self.start()

    def start(self) -> None:
        self.program = Program(self.name, self._command, self._folder)
        self.starts += 1
        self._ended_s = None

    def look(self) -> None:
        """Start it again if it is time. Raises Refused if systemd would not."""
        status = self.program.status
        if status is None:
            return
        if self._ended_s is None:
            say(f"{self.name} ended with status {status}")
            self._ended_s = time.monotonic()
        if status in NEVER_AGAIN:
            raise Refused(f"{self.name} ended with status {status}: {self.program.last_words()}")
        if time.monotonic() - self._ended_s >= RESTARTS_AFTER_S:
            self.program.kill()
            self.start()


class Hook:
    """The webhook, which can be away. ``taken`` are the pages that it took, in order."""

    def __init__(self) -> None:
        self._server: Server | None = Server()
        self._port, self.url = self._server.port, self._server.url
        self._before: list[Any] = []

    @property
    def taken(self) -> list[Any]:
        return self._before + (list(self._server.taken) if self._server else [])

    def stop(self) -> None:
        """Connections are refused from now on."""
        if self._server is not None:
            self._server.__exit__()
            self._before, self._server = self.taken, None

    def start(self) -> None:
        self._server = Server(port=self._port)

    def answer(self, status: int) -> None:
        if self._server is not None:
            self._server.always = Answer(status)


class Stage:
    """The programs, what they wrote, and what is done to them. ``shift`` has the seconds by which clocks are ahead."""

    def __init__(self, folder: Path, kafka: LoopbackKafka, brokers: Brokers, hook: Hook, groups: int) -> None:
        self.folder, self.kafka, self.brokers, self.hook = folder, kafka, brokers, hook
        self._groups, self._turns = groups, 0
        self.tables, self.checkpoints, self.checkpoint = folder / "tables", 1, folder / "checkpoint" / "1"
        self.state, self.config = folder / "state", folder / "evenkeel.toml"
        self.shift = folder / "clock"
        self.told = Told(hook)
        self.ledger = Ledger(kafka.bootstrap_servers, TOPIC, PARTITIONS, self.tables / "facts", CLUSTER)
        self.services: dict[str, Service] = {}
        self._listens = {name: f"127.0.0.1:{free_port()}" for name in (RUN, COLLECT, WEB, NOTIFY)}

    # --- its start and end

    def begin(self) -> None:
        self.set_clock(0)
        self._name_servers = self.brokers.name_servers()
        self._configure()
        self.brokers.do("take_queue", ILL)
        metrics = {name: ["--metrics", at] for name, at in self._listens.items()}
        shifted = [sys.executable, "-m", "bench.endure.shifted_clock", str(self.shift), COLLECT]
        self._serve(NOTIFY, [*EVENKEEL, NOTIFY, "--standby"], *metrics[NOTIFY])
        self._serve(RUN, [*EVENKEEL, RUN], *metrics[RUN])
        self._serve(COLLECT, shifted, *metrics[COLLECT])
        self._serve(WEB, [*EVENKEEL, WEB])
        self.wait_until(self.is_well, STARTS_WITHIN_S, "all programs are ready")

    def _serve(self, name: str, command: Sequence[str], *options: str) -> None:
        self.services[name] = Service(name, [*command, "--config", str(self.config), *options], self.folder)

    def end(self) -> None:
        for service in reversed(self.services.values()):
            service.program.kill()

    def _configure(self) -> None:
        """The defaults, but for places, fewer shards and triggers, and a Java that starts quickly."""
        (self.folder / "alerts.toml").write_text(
            RULES.format(url=self.hook.url, blind_s=MONITOR.blind_seconds, late_s=MONITOR.late_seconds)
        )
        values: dict[str, dict[str, Any]] = {
            "source": {"topic": TOPIC, "bootstrap_servers": self.kafka.bootstrap_servers},
            "tables": {"path": str(self.tables)},
            "job": {"checkpoint": str(self.checkpoint), "shards": 4, "trigger_seconds": TRIGGER_S},
            "collector": {"state": str(self.state / "collector")},
            "collector.clusters": {CLUSTER: ";".join(self._name_servers)},
            "notify": {"alerts": str(self.folder / "alerts.toml"), "state": str(self.state / "notifier")},
            "web": {"listen": self._listens[WEB]},
            "spark.settings": {
                "spark.driver.extraJavaOptions": QUICK_JAVA,
                "spark.sql.shuffle.partitions": 2,
                "spark.local.dir": str(self.folder / "scratch"),
            },
        }
        write_toml(self.config, values)

    # --- what is seen

    def look(self) -> None:
        for service in self.services.values():
            service.look()

    def pause(self, seconds: float) -> None:
        """Wait, while programs that fail start again."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self.look()
            time.sleep(min(LOOK_S, max(end_s - time.monotonic(), 0)))

    def is_reached(self, condition: Callable[[], bool], within_s: float) -> bool:
        end_s = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > end_s:
                return False
            self.pause(LOOK_S)
        return True

    def wait_until(self, condition: Callable[[], bool], within_s: float, what: str) -> None:
        if not self.is_reached(condition, within_s):
            raise MonitorError(f"{within_s:g} s were not enough until {what}: {self.troubles()}")

    def is_well(self) -> bool:
        return not self.troubles() and not self.told.open()

    def troubles(self) -> list[str]:
        """What the programs say of themselves at /readyz."""
        return [f"{name}: {text}" for name, at in self._listens.items() if (text := _not_ready(at))]

    def facts_version(self) -> int:
        return DeltaTable(str(self.tables / "facts")).version()

    def is_projected(self, version: int) -> bool:
        """Whether the other tables have the facts up to this commit."""
        progress = read_progress(str(self.tables))
        return progress is not None and progress.done.version > version

    def delivers(self) -> str:
        """The program whose notifier sends the pages."""
        holder = running_notifier(self.state / "notifier")
        for name, service in self.services.items():
            if holder is not None and holder.pid in processes(service.program.pid):
                return name
        raise MonitorError("no notifier delivers")

    def projections(self) -> psutil.Process:
        """The process that writes the other tables."""
        for child in psutil.Process(self.services[RUN].program.pid).children():
            if "streaming.projections.process" in " ".join(child.cmdline()):
                return child
        raise MonitorError("the projections do not run")

    # --- what happens

    def turn(self) -> None:
        """A group loses the consumer of a queue, or the one that lost it last has it again.

        Each time it is the next group: an alert that fires for the third time within an hour stays open.
        """
        self._turns += 1
        self.brokers.do("take_queue" if self._is_changing_ill else "give_queue_back", self._changing)

    def command(self, *words: str) -> None:
        """Another command on the same configuration, to its end; again while the job does that work itself."""
        self.wait_until(lambda: self._is_done(words), COMMAND_WITHIN_S, f"{words[0]} is not in use elsewhere")

    def _is_done(self, words: Sequence[str]) -> bool:
        """Run the command. False: another process does that work now."""
        command = [*EVENKEEL, *words, "--config", str(self.config)]
        done = subprocess.run(command, cwd=self.folder, env=environment(self.folder), capture_output=True, text=True)
        if done.returncode not in (DONE, IN_USE):
            raise MonitorError(f"{words[0]} ended with status {done.returncode}: {done.stderr[-2000:]}")
        return done.returncode == DONE

    def reseed(self) -> None:
        """What a person does about a checkpoint that cannot be read (docs/upgrading.md), while the job is down."""
        self.checkpoint = self.checkpoint.with_name(str(self.checkpoints + 1))
        self.checkpoints += 1
        self.command("reseed", "--checkpoint", str(self.checkpoint))
        self._configure()
        rows = parquet.read_table(self.checkpoint / SEED_FOLDER).to_pylist()
        seeds = [Record(row["key"], row["value"], len(row["value"]), None, None, SEED_TOPIC, 0, 0) for row in rows]
        begins = json.loads((self.checkpoint / "evenkeel" / "identity.json").read_text())["starting_offsets"]
        offsets = {int(number): max(offset, 0) for number, offset in json.loads(begins)[TOPIC].items()}
        self.ledger.begin_again(seeds, offsets)

    def set_clock(self, ahead_s: int) -> None:
        """Of the machine of the collector."""
        new = self.shift.with_suffix(".new")
        new.write_text(str(ahead_s))
        new.replace(self.shift)

    def ill(self) -> set[str]:
        """The groups that there may be pages of."""
        return {f"group-{ILL}", *(f"group-{self._changed_by(turns)}" for turns in range(1, self._turns + 1))}

    def is_turn_told(self) -> bool:
        told = self.told.of_group(f"group-{self._changing}")
        return bool(told) and (told[-1][0] == "firing") == self._is_changing_ill

    @property
    def _is_changing_ill(self) -> bool:
        return self._turns % 2 == 1

    @property
    def _changing(self) -> int:
        return self._changed_by(self._turns)

    def _changed_by(self, turns: int) -> int:
        """The number of the group that changed last after so many turns."""
        return 1 + (turns - 1) // 2 % (self._groups - 1)


def _not_ready(at: str) -> str:
    try:
        answer = requests.get(f"http://{at}/readyz?standby=ready", timeout=5)
    except requests.RequestException as error:
        return type(error).__name__
    return "" if answer.ok else answer.text.strip()


@contextmanager
def staged(folder: Path, groups: int) -> Iterator[Stage]:
    """A new stage in this folder. Its logs are kept when it ends."""
    unmount(folder, DISKS)
    shutil.rmtree(folder, ignore_errors=True)
    with ExitStack() as stack:
        hook = Hook()
        stack.callback(hook.stop)
        stack.enter_context(mounted(folder, DISKS))
        stack.callback(lambda: shutil.copytree(folder / "logs", folder / "kept-logs", dirs_exist_ok=True))
        kafka = LoopbackKafka(folder / "kafka", port=free_port(), ready_within_s=STARTS_WITHIN_S)
        stack.callback(kafka.stop)
        kafka.start()
        kafka.create_topic(TOPIC, PARTITIONS, {"message.timestamp.type": "LogAppendTime"})
        brokers = stack.enter_context(Brokers(BrokersPlan(groups, DEPLOY_EVERY_S)))
        stage = Stage(folder, kafka, brokers, hook, groups)
        stack.callback(stage.end)
        stage.begin()
        yield stage
