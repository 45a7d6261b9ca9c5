"""Nothing is lost and nothing comes twice, whenever everything is killed at once.

A run that is killed again and again leaves the same rows, in every table, as one that was never disturbed; and those
are the facts of the core alone. ``EVENKEEL_KILLS`` asks for more kills, ``EVENKEEL_SEED`` for those of an earlier run.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest

from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.loopback import LoopbackKafka
from streaming.wall_clock import now_ms
from testing import tables
from testing.job import Job, Progress
from testing.workload import Feeder, end_offsets, folded, recorded, with_bad_ones
from tests.e2e.conftest import MakeJob

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.deep("a job of its own, killed or running for minutes")]

KILLS = int(os.environ.get("EVENKEEL_KILLS", "10"))
SEED = int(os.environ.get("EVENKEEL_SEED", time.time_ns() % 1_000_000))
SECONDS_A_LIFE = 12
KILLS_A_COPY = 15  # of the recordings: each life reads a few batches, and the last ones must have some too
LARGE_BATCHES = {"source": {"max_offsets_per_trigger": 200_000}}
SMALL_BATCHES = {"source": {"max_offsets_per_trigger": 40}}


class Standing(NamedTuple):
    """How far both streams are."""

    batches: Progress
    projections: Progress


class Moment(NamedTuple):
    """Some time, at most ``within_s``, after something has come true that was not when this life began."""

    name: str
    reached: Callable[[Standing, Standing], bool]
    within_s: float


MOMENTS = (
    Moment("while starting", lambda began, now: True, 15),
    Moment("in a batch", lambda began, now: now.batches.begun > now.batches.done > began.batches.done, 1),
    Moment("in a projection", lambda began, now: now.projections.begun > began.projections.begun, 0.1),
    Moment("after a commit", lambda began, now: now.batches.done > began.batches.done, 4),
)


class Killed(NamedTuple):
    """A life that was ended: how far both streams were when it began and when it ended."""

    moment: str
    began: Standing
    ended: Standing

    def __str__(self) -> str:
        (b0, p0), (b1, p1) = self.began, self.ended
        batches = f"batches {b0.done + 1} to {b1.done} done" if b1.done > b0.done else "no batch done"
        return f"{self.moment:16} {batches}, then pending: batch {b1.pending}, projection {p1.pending} (was {p0.begun})"


@pytest.mark.timeout(600 + 120 * KILLS)
def test_a_run_that_is_killed_again_and_again_leaves_the_same_tables(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob
) -> None:
    print(f"EVENKEEL_SEED={SEED}")
    clusters = [f"e2e-{number}" for number in range(1 + KILLS // KILLS_A_COPY)]
    records = with_bad_ones(record for cluster in clusters for record in recorded(cluster, now_ms()))
    job, undisturbed = make_job("killed", SMALL_BATCHES), make_job("undisturbed", {"job": {"shards": 3}})
    with Feeder(kafka, topic, records, KILLS * SECONDS_A_LIFE):
        killed = kill_again_and_again(job, random.Random(SEED))
    offsets = end_offsets(kafka, topic)
    job.configure(LARGE_BATCHES)
    job.finish(offsets)
    undisturbed.finish(offsets)
    assert tables.as_facts(undisturbed.tables) == folded((records, DEFAULT_SETTINGS))
    assert_equal(job, undisturbed)
    assert_hit(killed)


def kill_again_and_again(job: Job, chance: random.Random) -> list[Killed]:
    moments = [MOMENTS[number % len(MOMENTS)] for number in range(KILLS)]
    chance.shuffle(moments)
    return [live_and_die(job, moment, chance.uniform(0, moment.within_s)) for moment in moments]


def live_and_die(job: Job, moment: Moment, delay_s: float) -> Killed:
    began = standing(job)
    job.start()
    job.wait_until(lambda: moment.reached(began, standing(job)), f"it was {moment.name}")
    time.sleep(delay_s)
    assert job.is_running(), job.last_words()
    job.kill()
    killed = Killed(moment.name, began, standing(job))
    print(killed, flush=True)
    return killed


def standing(job: Job) -> Standing:
    return Standing(job.batches(), job.projections())


def assert_equal(job: Job, undisturbed: Job) -> None:
    """Row for row. Left out is what tells of the run itself: health, and which checkpoint and shard told a fact."""
    found = {name: tables.differences(ours, theirs) for name, ours, theirs in pairs(job, undisturbed)}
    assert {name: different for name, different in found.items() if different} == {}
    assert {fact["status"] for fact in tables.health(job.tables)} <= {"ok", "idle", "late"}  # none says "data_lost"


def pairs(job: Job, undisturbed: Job) -> Iterator[tuple[str, list[tables.Row], list[tables.Row]]]:
    yield "facts", tables.facts(job.tables), tables.facts(undisturbed.tables)
    yield "quarantined", tables.quarantined(job.tables), tables.quarantined(undisturbed.tables)
    for name in tables.COMPARED:
        rows = tables.projection(undisturbed.tables, name)
        assert rows, f"{name} is empty: nothing was compared"
        yield name, tables.projection(job.tables, name), rows


def assert_hit(killed: Sequence[Killed]) -> None:
    """The kills were where they hurt: after new commits, in batches that came again, and in projections too."""
    after_commits = sum(one.ended.batches.done > one.began.batches.done for one in killed)
    replayed = sum(one.ended.batches.pending is not None for one in killed)
    projected = sum(one.ended.projections.pending is not None for one in killed)
    print(
        f"{len(killed)} kills: {after_commits} after new commits, {replayed} batches and {projected} projections again"
    )
    assert after_commits >= len(killed) // 2
    assert replayed >= len(killed) // 4
    assert projected >= 1
