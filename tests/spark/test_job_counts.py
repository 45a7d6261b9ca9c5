"""What the driver counts of its batches, without Spark."""

import pytest

from streaming.core.shard import ClusterCounts
from streaming.metrics.exposition import Exposed, Exposition
from streaming.metrics.series import MOST_CLUSTERS
from streaming.spark.health import FORGET_CLUSTER_MS, BatchSummary
from streaming.spark.job_counts import JobCounts
from streaming.spark.kafka_offsets import Loss
from streaming.spark.operator import ShardReport
from tests.metrics.scraping import Scrape

S = 1000
NOW = 1_700_000_000 * S
BLIND_MS, LATE_MS = 35 * S, 60 * S


def batch(*counts: ClusterCounts, shard: int = 0, state: int = 10, lost: int = 0) -> BatchSummary:
    return BatchSummary(1, 0, [ShardReport(shard, state, 3, [], list(counts))], Loss(lost))


def prod(events: int = 5, rounds: int = 2, newest: int = NOW, quarantined: int = 0) -> ClusterCounts:
    return ClusterCounts("prod", events, rounds, 1, quarantined, 1, newest)


def scraped(counts: JobCounts) -> Scrape:
    return Scrape(Exposition(Exposed("run", [counts.series], list)).text().decode())


def test_batches_add_up() -> None:
    counts = JobCounts()
    counts.add(batch(prod()), NOW)
    counts.add(batch(prod(newest=NOW - 5), shard=1, state=7, lost=4), NOW)
    counts.add(batch(shard=1, state=8), NOW)
    counts.lost(2)
    counts.ended(1.5, NOW + S)
    counts.appended(NOW + 2 * S)
    found = scraped(counts)
    assert found.one("evenkeel_job_events_total", cluster="prod") == 10
    assert found.one("evenkeel_job_rounds_total", cluster="prod") == 4
    assert found.one("evenkeel_job_brokers_unanswered_total", cluster="prod") == 2
    assert found.one("evenkeel_job_newest_round_timestamp_seconds", cluster="prod") == NOW / S
    assert found["evenkeel_job_state_bytes"] == 18
    assert found["evenkeel_job_facts_total"] == 9
    assert found["evenkeel_job_records_lost_total"] == 6
    assert found["evenkeel_job_batch_duration_seconds_count"] == 1
    assert found["evenkeel_job_last_batch_timestamp_seconds"] == NOW / S + 1
    assert found["evenkeel_job_last_append_timestamp_seconds"] == NOW / S + 2


def test_before_the_first_batch_counters_are_there_at_0() -> None:
    found = scraped(JobCounts())
    assert found["evenkeel_job_batch_duration_seconds_count"] == 0
    assert found.one("evenkeel_job_quarantined_total", cluster="") == 0
    assert found.of("evenkeel_job_last_append_timestamp_seconds") == {}


def test_a_record_of_no_known_cluster_is_counted_all_the_same() -> None:
    counts = JobCounts()
    counts.add(
        batch(prod(quarantined=1), ClusterCounts("", quarantined=2), ClusterCounts("made up", quarantined=3)), NOW
    )
    found = scraped(counts).of("evenkeel_job_quarantined_total")
    assert {dict(labels)["cluster"]: value for labels, value in found.items()} == {"prod": 1, "": 5}


def test_clusters_that_somebody_makes_up_are_bounded() -> None:
    counts = JobCounts()
    counts.add(batch(*(ClusterCounts(f"c{number}", events=1) for number in range(MOST_CLUSTERS + 5))), NOW)
    found = scraped(counts).of("evenkeel_job_events_total")
    assert len(found) == MOST_CLUSTERS + 1
    assert scraped(counts).one("evenkeel_job_events_total", cluster="") == 5


def test_a_round_ahead_of_the_jobs_clock_counts_as_of_now() -> None:
    counts = JobCounts()
    counts.add(batch(prod(newest=NOW + 86_400 * S)), NOW)
    counts.add(batch(prod(newest=NOW)), NOW + LATE_MS + S)
    counts.appended(NOW + LATE_MS + S)
    assert scraped(counts).one("evenkeel_job_newest_round_timestamp_seconds", cluster="prod") == NOW / S
    assert ready(counts, NOW + LATE_MS + S) == ["cluster prod: the newest round is 61 s old"]


def ready(counts: JobCounts, now: int, *configured: str) -> list[str]:
    return counts.troubles(configured, BLIND_MS, LATE_MS, now)


def test_a_job_that_has_done_nothing_yet_is_not_ready() -> None:
    assert ready(JobCounts(), NOW) == [
        "no facts have been written since the job started",
        "no round of any cluster comes",
    ]
    assert ready(JobCounts(), NOW, "prod")[1] == "cluster prod: no round has come since the job started"


@pytest.mark.parametrize(
    ("after_ms", "newest", "said"),
    [
        (BLIND_MS, NOW, []),
        (0, NOW - LATE_MS, []),
        (0, NOW - LATE_MS - S, ["cluster prod: the newest round is 61 s old"]),
        (
            BLIND_MS + S,
            NOW,
            ["no facts have been written for 36 s", "cluster prod: no round has come for 36 s"],
        ),
    ],
)
def test_a_job_is_ready_while_facts_are_written_and_rounds_come(after_ms: int, newest: int, said: list[str]) -> None:
    counts = JobCounts()
    counts.add(batch(prod(newest=newest)), NOW)
    counts.appended(NOW)
    assert ready(counts, NOW + after_ms, "prod") == said


def test_a_cluster_that_was_switched_off_is_forgotten_after_a_week() -> None:
    counts = JobCounts()
    counts.add(batch(prod()), NOW)
    counts.appended(NOW + FORGET_CLUSTER_MS)
    assert ready(counts, NOW + FORGET_CLUSTER_MS)[0].startswith("cluster prod: no round has come for")
    counts.appended(NOW + FORGET_CLUSTER_MS + 1)
    assert scraped(counts).of("evenkeel_job_newest_round_timestamp_seconds") == {}
    assert ready(counts, NOW + FORGET_CLUSTER_MS + 1) == ["no round of any cluster comes"]
