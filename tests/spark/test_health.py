"""Health facts: when they are due, and what they add up to."""

import pytest

from streaming.core.shard import ClusterCounts
from streaming.errors import AwayError
from streaming.spark.health import CLUSTERS_AT_MOST, BatchSummary, Health, Sight, failure_facts
from streaming.spark.kafka_offsets import ANSWER_WITHIN_S, KafkaSeen, KafkaWatch, Loss
from streaming.spark.operator import ShardReport

T0 = 1_700_000_000_000
IDLE, BUSY = Sight(), Sight(working_ms=10)


def account(*cluster_counts, batch_id=0, loss=None, state_bytes=100, shard=0):
    return BatchSummary(batch_id, 40, [ShardReport(shard, state_bytes, 0, [], list(cluster_counts))], loss or Loss())


def tally(cluster="c", events=10, rounds=2, groups=2, newest=T0, **fields):
    return ClusterCounts(cluster, events=events, rounds=rounds, groups=groups, newest_round_ts=newest, **fields)


@pytest.fixture
def health():
    return Health(15, {}, T0)


def test_a_fact_is_due_after_its_interval_and_not_before(health):
    health.add(account(tally()))
    assert health.facts(T0 + 14_999, BUSY) == []
    assert [fact.cluster for fact in health.facts(T0 + 15_000, BUSY)] == ["c"]
    assert health.facts(T0 + 29_999, BUSY) == []


def test_batches_add_up_per_cluster(health):
    health.add(account(tally(quarantined=1), tally("d", events=3), batch_id=4))
    health.add(account(tally(events=20, groups=5), batch_id=5, shard=1, state_bytes=50))
    c, d = (fact.payload for fact in health.facts(T0 + 15_000, BUSY))
    assert (c.events, c.rounds, c.groups, c.quarantined, c.batch_id) == (30, 4, 5, 1, 5)
    assert (c.events_per_s, c.state_bytes, c.status, c.lag_ms) == (2.0, 150, "ok", 15_000)
    assert (d.events, d.status) == (3, "ok")


def test_shards_of_one_batch_add_up_their_groups(health):
    reports = [ShardReport(shard, 1, 0, [], [tally(groups=3)]) for shard in (0, 1)]
    health.add(BatchSummary(0, 40, reports, Loss()))
    assert health.facts(T0 + 15_000, BUSY)[0].payload.groups == 6


def test_silence_is_idle_and_still_told(health):
    health.add(account(tally()))
    health.facts(T0 + 15_000, BUSY)
    (idle,) = health.facts(T0 + 90_000, IDLE)
    assert (idle.payload.status, idle.payload.events, idle.payload.lag_ms) == ("idle", 0, 90_000)


def test_a_lag_over_a_minute_while_working_is_late(health):
    health.add(account(tally()))
    assert health.facts(T0 + 60_000, BUSY)[0].payload.status == "ok"
    health.add(account(tally()))
    assert health.facts(T0 + 75_001, BUSY)[0].payload.status == "late"


def test_nobody_known_is_told_without_a_cluster(health):
    assert [fact.cluster for fact in health.facts(T0 + 15_000, IDLE)] == [""]


def test_a_name_that_only_bad_records_bear_is_no_cluster(health):
    health.add(account(tally("forged", events=0, quarantined=9, newest=None)))
    assert [fact.cluster for fact in health.facts(T0 + 15_000, BUSY)] == [""]


def test_known_clusters_outlive_the_process():
    health = Health(15, {"c": T0}, T0 + 1_000)
    assert [fact.cluster for fact in health.facts(T0 + 20_000, IDLE)] == ["c"]


def test_a_cluster_unheard_of_for_a_week_is_forgotten():
    health = Health(15, {"c": T0}, T0)
    assert [fact.cluster for fact in health.facts(T0 + 8 * 86_400_000, IDLE)] == [""]


def test_a_loss_is_told_at_once_and_once():
    health = Health(None, {"c": T0}, T0)
    health.add(account(tally(), loss=Loss(7, "gone")))
    (lost,) = health.facts(T0 + 1, BUSY)
    assert (lost.payload.status, lost.payload.records_lost, lost.payload.detail) == ("data_lost", 7, "gone")
    assert health.facts(T0 + 2, BUSY) == []


def test_numbers_rise_even_if_the_clock_goes_back(health):
    first = health.facts(T0 + 15_000, BUSY)[0].seq
    health.add_loss(Loss(1, "gone"))
    assert health.facts(T0 + 10_000, BUSY)[0].seq > first


def test_it_says_how_long_batches_take_and_what_kafka_says(health):
    health.add(account(tally()))
    health.ended(31_000, T0 + 14_000)
    kafka = KafkaSeen(T0 + 9_000, T0 + 8_000, {("t", 0): 70}, "no answer")
    (fact,) = health.facts(T0 + 15_000, Sight(900, kafka, kafka.unread({"t": {"0": 30}})))
    said = fact.payload
    assert (said.batch_ms, said.batch_ended_ts, said.working_ms) == (31_000, T0 + 14_000, 900)
    assert (said.kafka_ts, said.kafka_error, said.unread, said.quiet_since_ts) == (
        T0 + 9_000, "no answer", 40, T0 + 8_000,
    )  # fmt: skip


def test_the_last_words_of_a_job_name_its_error_for_each_cluster():
    facts = failure_facts({"c": T0, "d": 0}, "Kafka at k:9092 does not answer", T0 + 500)
    assert [(fact.cluster, fact.payload.status, fact.payload.lag_ms) for fact in facts] == [
        ("c", "failed", 500), ("d", "failed", None),
    ]  # fmt: skip
    assert {fact.payload.detail for fact in facts} == {"Kafka at k:9092 does not answer"}


def test_a_topic_is_quiet_since_its_end_was_first_seen_where_it_is():
    answers = [{("t", 0): 5}, {("t", 0): 5}, AwayError("Kafka at k does not answer: Timeout"), {("t", 0): 6}]
    now = iter((T0, T0 + 5_000, T0 + 20_000))

    def ends(within_s):
        assert within_s == ANSWER_WITHIN_S
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    watch = KafkaWatch(ends, lambda: next(now))
    assert watch.seen.unread({}) is None
    watch.ask()
    watch.ask()
    assert (watch.seen.answered_ts, watch.seen.quiet_since_ts) == (T0 + 5_000, T0)
    watch.ask()
    assert (watch.seen.answered_ts, watch.seen.error) == (T0 + 5_000, "Kafka at k does not answer: Timeout")
    watch.ask()
    assert watch.seen == KafkaSeen(T0 + 20_000, T0 + 20_000, {("t", 0): 6}, None)


def test_a_round_ahead_of_the_jobs_clock_hides_no_lateness(health):
    health.add(account(tally(newest=T0 + 30 * 86_400_000)))
    assert health.facts(T0 + 15_000, BUSY)[0].payload.lag_ms == 0
    health.add(account(tally(newest=T0 + 10_000)))
    (fact,) = health.facts(T0 + 90_000, BUSY)
    assert (fact.payload.lag_ms, fact.payload.status) == (75_000, "late")


def test_a_time_far_ahead_that_an_earlier_job_has_stored_is_not_believed():
    health = Health(15, {"c": T0 + 30 * 86_400_000}, T0)
    assert health.newest == {"c": T0}
    health.add(account(tally()))
    assert health.facts(T0 + 61_000, BUSY)[0].payload.status == "late"


def test_clusters_that_somebody_makes_up_are_bounded(health):
    for first in range(0, 2 * CLUSTERS_AT_MOST, 500):
        health.add(account(*(tally(f"c{number}") for number in range(first, first + 500))))
    assert len(health.facts(T0 + 15_000, BUSY)) == CLUSTERS_AT_MOST
    health.add(account(tally("c1", events=7)))
    assert len(health.facts(T0 + 30_000, BUSY)) == CLUSTERS_AT_MOST
