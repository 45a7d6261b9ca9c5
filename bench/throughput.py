"""How fast the job catches up, beside a plain loop over the same bytes: full triggers, all state preloaded."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.environment import Environment, Running, Trigger, Usage, tell
from bench.feeder import Batch, Feeder
from bench.plain import PlainLoop
from bench.results import say
from bench.tables import checkpoint_bytes_since, state_bytes
from streaming.feed.console_producer import ConsoleProducer

BEHIND_MS = 3_600_000  # where a fleet's time begins: a backlog must not reach into the future


@dataclass(frozen=True, slots=True)
class Effort:
    """How many triggers of ``a_trigger`` events count, after ``warming`` ones that do not; over how many of them the
    plain loop is timed, after one; and how many count with the group as the key."""

    a_trigger: int
    warming: int
    triggers: int
    plain_batches: int
    keyed_triggers: int


QUICK = Effort(a_trigger=50_000, warming=1, triggers=2, plain_batches=1, keyed_triggers=0)
FULL = Effort(a_trigger=200_000, warming=6, triggers=8, plain_batches=3, keyed_triggers=3)


class Caught(NamedTuple):
    """One catching up: its triggers, and what it cost."""

    triggers: list[Trigger]
    batches: list[Batch]
    peak_mb: float
    java_s: float  # of all cores
    python_s: float

    @property
    def events_per_s(self) -> float:
        return sum(t.records for t in self.triggers) / sum(t.seconds for t in self.triggers)

    @property
    def events(self) -> int:
        """All that were read, those of the warming triggers too."""
        return sum(batch.events for batch in self.batches)

    @property
    def trigger_s(self) -> float:
        return median(self.seconds)

    @property
    def seconds(self) -> list[float]:
        return [trigger.seconds for trigger in self.triggers]


class CatchUp:
    """One fleet, one topic, one checkpoint and one plain loop; the state can grow from phase to phase."""

    def __init__(self, environment: Environment, feeder: Feeder, plain: PlainLoop | None, topic: str) -> None:
        self.environment, self.feeder, self.topic = environment, feeder, topic
        self._plain = plain
        self.loaded = 0  # events sent to the topic
        self.begun = len(environment.watch.triggers)  # triggers before those of this topic
        environment.create_topic(topic)

    def preload(self, groups: int) -> None:
        """Let the job and the loop know the first ``groups``, side by side: this is not timed."""
        batch = self.feeder.introduce(groups)
        if self._plain:
            self._plain.begin(batch.path)
        self.send([batch])
        with Running(self.environment, self.environment.plan(self.topic)) as job:
            job.wait_for(self.loaded, self.begun)
        tell(f"preloaded {groups} groups", self.environment.watch.triggers[self.begun :])
        if self._plain:
            self._plain.finish()
        batch.path.unlink()

    def catch_up(self, effort: Effort) -> Caught:
        """Its triggers, after those in which Java and the workers become warm."""
        a_trigger = effort.a_trigger
        batches = [self.feeder.backlog(a_trigger) for _ in range(effort.warming + effort.triggers)]
        self.send(batches)
        before = len(self.environment.watch.triggers)
        plan = self.environment.plan(self.topic, source__max_offsets_per_trigger=a_trigger)
        with Usage(self.environment.others) as usage, Running(self.environment, plan) as job:
            job.wait_for(self.loaded, self.begun)
        counted = [t for t in self.environment.watch.triggers[before + effort.warming :] if t.records > a_trigger * 0.9]
        tell(f"{self.topic}, {a_trigger} events a trigger", counted)
        return Caught(counted, batches, usage.peak_mb, *usage.cpu_s())

    def send(self, batches: list[Batch]) -> None:
        with ConsoleProducer(self.environment.kafka.bootstrap_servers, self.topic, "lz4") as producer:
            for batch in batches:
                with batch.path.open("rb") as lines:
                    shutil.copyfileobj(lines, producer.pipe, 1 << 20)
        self.loaded += sum(batch.records for batch in batches)

    def plain_events_per_s(self, batches: list[Batch], count: int) -> float:
        """The loop's turn at the same bytes: ``count`` batches after a first one that does not count either."""
        assert self._plain is not None
        for batch in batches:  # all of them, since the next phase goes on from there
            self._plain.begin(batch.path)
        seconds = self._plain.finish()
        say(f"plain loop: {' '.join(f'{s:.2f}s' for s in seconds)}")
        for batch in batches:
            batch.path.unlink()
        return sum(batch.events for batch in batches[1 : count + 1]) / sum(seconds[1 : count + 1])

    def figures(self, caught: Caught, plain_events_per_s: float, clients: int) -> dict[str, float]:
        """The values of ``job.groups_N``."""
        checkpoint = Path(self.environment.folder, self.topic, "checkpoint")
        began = caught.triggers[0].ended - caught.triggers[0].seconds
        written = checkpoint_bytes_since(checkpoint, began)
        return {
            "events_per_s": round(caught.events_per_s),
            "plain_loop_events_per_s": round(plain_events_per_s),
            "events_per_s_over_plain_loop": round(caught.events_per_s / plain_events_per_s, 2),
            "trigger_s_p50": round(caught.trigger_s, 2),
            "trigger_s_max": round(max(caught.seconds), 2),
            "triggers": len(caught.triggers),
            "state_bytes_per_client": round(state_bytes(self.environment.spark, checkpoint) / clients, 1),
            "checkpoint_mb_per_trigger": round(written / len(caught.triggers) / 1e6, 1),
            "rss_mb": round(caught.peak_mb),
            "java_cpu_us_per_event": round(caught.java_s / caught.events * 1e6, 1),
            "python_cpu_us_per_event": round(caught.python_s / caught.events * 1e6, 1),
        }
