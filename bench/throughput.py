"""The speed of the job in catching up, compared with a plain loop over the same bytes: full triggers, preloaded state.

The unit is rounds of groups: a round is one Kafka record.
"""

import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.environment import KAFKA_PARTITIONS, Environment, Running, Trigger, Usage, tell
from bench.feeder import Batch, Feeder, send_files
from bench.plain import PlainLoop, read_lines
from bench.results import say
from bench.tables import checkpoint_bytes_since, state_bytes
from streaming.simulation.load.segment import ROUND_MS
from streaming.spark.job import Plan

BEHIND_MS = 3_600_000  # beginning of a fleet's time before now: a backlog must not reach into the future
ROUNDS_A_MINUTE = 60_000 / ROUND_MS
PRODUCER_BATCH = 64 * 1024  # the bytes that the collector compresses together
RECORDS_COMPRESSED = 10_000


@dataclass(frozen=True, slots=True)
class Effort:
    """The numbers of triggers. ``triggers`` of ``a_trigger`` rounds count, after ``warming`` ones of a quarter of the
    rounds, which do not. The plain loop is timed over ``plain_batches`` of the warming batches, after a first one.
    """

    a_trigger: int
    warming: int
    triggers: int
    plain_batches: int


QUICK = Effort(a_trigger=10_000, warming=60, triggers=4, plain_batches=12)
FULL = Effort(a_trigger=20_000, warming=80, triggers=10, plain_batches=16)
STARTING = 2  # the first triggers of a query do not count


class Caught(NamedTuple):
    """The counted triggers, their rounds, and their cost."""

    triggers: list[Trigger]
    peak_mb: float
    java_s: float  # over all cores
    python_s: float

    @property
    def rounds(self) -> int:
        return sum(t.records for t in self.triggers)

    @property
    def rounds_per_s(self) -> float:
        return self.rounds / sum(self.seconds)

    @property
    def trigger_s(self) -> float:
        return median(self.seconds)

    @property
    def seconds(self) -> list[float]:
        return [trigger.seconds for trigger in self.triggers]


class CatchUp:
    """The work of catching up: one fleet, one topic, one checkpoint and one plain loop."""

    def __init__(self, environment: Environment, feeder: Feeder, plain: PlainLoop | None, topic: str) -> None:
        self.environment, self.feeder, self.topic = environment, feeder, topic
        self._plain = plain
        self.loaded = 0  # number of records sent to the topic
        self._read = 0  # number of these that the job has read
        environment.create_topic(topic)

    def preload(self, groups: int) -> None:
        """Introduce the first ``groups`` to the job and the loop, in parallel and without timing."""
        batch = self.feeder.introduce(groups)
        if self._plain:
            self._plain.begin(batch.path)
        self.send([batch])
        with Running(self.environment, self.environment.plan(self.topic)) as job:
            self.wait_for_all(job)
        tell(f"preloaded {groups} groups", job.triggers)
        if self._plain:
            self._plain.finish()
        batch.path.unlink()

    def wait_for_all(self, job: Running) -> None:
        """Wait until the job has read everything that was sent."""
        job.wait_for(self.loaded - self._read)
        self._read = self.loaded

    def warm(self, triggers: int, a_trigger: int) -> list[Batch]:
        """Run small triggers to warm Java and the workers: this takes many calls, not many rounds."""
        batches = [self.feeder.backlog(a_trigger) for _ in range(triggers)]
        self.send(batches)
        with Running(self.environment, self._plan(a_trigger)) as job:
            self.wait_for_all(job)
        tell(f"{self.topic}, warming", job.triggers)
        return batches

    def catch_up(self, a_trigger: int, triggers: int) -> Caught:
        """Run this number of counted triggers. Return them with their cost."""
        self.send([self.feeder.backlog(a_trigger) for _ in range(STARTING + triggers)])
        with Running(self.environment, self._plan(a_trigger)) as job:
            job.wait_for(a_trigger * STARTING)
            with Usage(self.environment.others) as usage:
                self.wait_for_all(job)
        counted = job.triggers[STARTING:]
        tell(f"{self.topic}, {a_trigger} rounds a trigger", counted)
        return Caught(counted, usage.peak_mb, *usage.cpu_s())

    def _plan(self, a_trigger: int) -> Plan:
        """The plan. Spark rounds each partition's share down: one more for each avoids a small trigger at the end."""
        return self.environment.plan(self.topic, source__max_offsets_per_trigger=a_trigger + KAFKA_PARTITIONS)

    def send(self, batches: list[Batch]) -> None:
        send_files([batch.path for batch in batches], self.environment.kafka.bootstrap_servers, self.topic)
        self.loaded += sum(batch.records for batch in batches)

    def plain_rounds_per_s(self, batches: list[Batch], count: int) -> float:
        """The speed of the loop over the same bytes: ``count`` batches, after a first one that does not count."""
        assert self._plain is not None
        for batch in batches[: count + 1]:
            self._plain.begin(batch.path)
        seconds = self._plain.finish()
        say(f"plain loop: {' '.join(f'{s:.2f}s' for s in seconds)}")
        return sum(batch.rounds for batch in batches[1 : count + 1]) / sum(seconds[1 : count + 1])

    def figures(self, caught: Caught, plain_rounds_per_s: float, groups: int) -> dict[str, float]:
        """The values of ``catch_up``."""
        checkpoint = Path(self.environment.folder, self.topic, "checkpoint")
        began = caught.triggers[0].ended - caught.triggers[0].seconds
        return {
            "rounds_per_s": round(caught.rounds_per_s),
            "plain_loop_rounds_per_s": round(plain_rounds_per_s),
            "over_plain_loop": round(caught.rounds_per_s / plain_rounds_per_s, 2),
            "seconds_per_hour_of_1000_groups": round(1_000 * 60 * ROUNDS_A_MINUTE / caught.rounds_per_s, 1),
            "rounds_per_group_and_trigger": round(caught.rounds / len(caught.triggers) / groups, 1),
            "trigger_s_p50": round(caught.trigger_s, 2),
            "trigger_s_max": round(max(caught.seconds), 2),
            "triggers": len(caught.triggers),
            "checkpoint_mb_per_trigger": round(
                checkpoint_bytes_since(checkpoint, began) / len(caught.triggers) / 1e6, 1
            ),
            "rss_mb": round(caught.peak_mb),
            "java_cpu_us_per_round": round(caught.java_s / caught.rounds * 1e6),
            "python_cpu_us_per_round": round(caught.python_s / caught.rounds * 1e6),
        }

    def state_bytes_per_client(self, clients: int) -> float:
        checkpoint = Path(self.environment.folder, self.topic, "checkpoint")
        return round(state_bytes(self.environment.spark, checkpoint) / clients, 1)


def cpu_ms_per_minute(caught: Caught) -> float:
    """The CPU milliseconds of a group a minute: all cores, Java and Python."""
    return round((caught.java_s + caught.python_s) / caught.rounds * ROUNDS_A_MINUTE * 1000, 2)


def kafka_bytes_per_minute(batches: list[Batch]) -> dict[str, float]:
    """The bytes of a group a minute: keys and values uncompressed, and compressed as by the collector."""
    records = [record for batch in batches for record in islice(read_lines(batch.path), RECORDS_COMPRESSED)]
    plain = b"".join(key + value for key, value in records)
    chunks = (plain[start : start + PRODUCER_BATCH] for start in range(0, len(plain), PRODUCER_BATCH))
    compressed = sum(len(zlib.compress(chunk)) for chunk in chunks)
    return {
        "kafka_bytes_per_minute": round(len(plain) / len(records) * ROUNDS_A_MINUTE),
        "kafka_bytes_per_minute_compressed": round(compressed / len(records) * ROUNDS_A_MINUTE),
    }
