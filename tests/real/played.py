"""Plays on a real cluster, what the collector sent of them, and what came of that."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from schemas.facts import EvaluationFailedFact, Fact, Payload, QuarantineFact
from schemas.identity import REVIVE_GROUP
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.loopback import LoopbackKafka
from testing.job import Job
from testing.rocketmq.collecting import Collecting
from testing.rocketmq.loopback import LoopbackRocketMQ
from testing.workload import PARTITIONS, end_offsets, folded, received
from tests.real.outcome import Outcome
from tests.real.stage import Play, conduct


class Played(NamedTuple):
    """``job`` may read what was sent, up to ``offsets``. ``outcomes`` by group; ``said``: the collector's log."""

    job: Job
    offsets: dict[str, int]
    facts: list[Fact]
    outcomes: dict[str, Outcome]
    said: str

    def of(self, group: str) -> Outcome:
        outcome = self.outcomes[group]
        print(outcome.account())
        return outcome

    def assert_all_is_well(self, *also_bad: type[Payload]) -> None:
        """Every group was judged, and nothing was refused or failed; nor is there a fact of these kinds.

        Where clients pop, the group by which brokers give messages out again is judged, too.
        """
        print(self.said)
        bad = (QuarantineFact, EvaluationFailedFact, *also_bad)
        assert [fact for fact in self.facts if isinstance(fact.payload, bad)] == []
        assert {fact.group for fact in self.facts} - {REVIVE_GROUP} == set(self.outcomes)
        assert "Traceback" not in self.said


def play(
    cluster: LoopbackRocketMQ,
    kafka: LoopbackKafka,
    topic: str,
    folder: Path,
    plays: Callable[[Collecting], Sequence[Play]],
    until_s: float,
) -> Played:
    """All plays side by side, whose events a collector sends to the topic. ``plays`` may kill the collector."""
    kafka.create_topic(topic, PARTITIONS)
    job = Job(folder, kafka.bootstrap_servers, topic, {"collector.clusters": {"real": cluster.namesrv}})
    with cluster, Collecting(job.config, folder / "recording.jsonl.gz") as collecting:
        began_ts, parts = conduct(plays(collecting), cluster, until_s)
    facts = folded((received(kafka, topic), DEFAULT_SETTINGS))
    outcomes = {group: Outcome(part, facts, began_ts) for group, part in parts.items()}
    return Played(job, end_offsets(kafka, topic), facts, outcomes, collecting.log)
