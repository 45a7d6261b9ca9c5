"""What a restart goes on from: the checkpoint as it was left, a new one made by reseed, and nothing else."""

import pytest
from msgspec.structs import replace

from schemas.events import encode_event
from schemas.facts import AlertFact, Fact
from schemas.records import group_key
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.settings import Settings
from streaming.loopback import LoopbackKafka
from streaming.wall_clock import now_ms
from testing import tables
from testing.job import Job
from testing.workload import Sent, end_offsets, folded, recorded, send
from tests.core.fleet import Fleet
from tests.e2e.conftest import MakeJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(900),
]

STRICT = Settings(timing=replace(DEFAULT_TIMING, hold_critical_ms=0, grace_membership_ms=0))
AS_CONFIGURED = {"timing": {"hold_critical_seconds": 0, "grace_membership_seconds": 0}}
STOPS_WITHIN_S = 30
REFUSED = 2


def test_a_stop_in_the_middle_of_work_is_quick_and_the_next_start_goes_on(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob
) -> None:
    records = recorded("e2e", now_ms(), names=("b_kill9", "e_subscriptions"))
    job = make_job(values={"source": {"max_offsets_per_trigger": 5}})
    send(kafka, topic, records)
    offsets = end_offsets(kafka, topic)
    job.start()
    job.wait_until(lambda: job.batches().done >= 1, "it had work behind it, and before it")
    status, seconds = job.stop()
    assert status == 0, job.last_words()
    assert seconds < STOPS_WITHIN_S
    assert not job.has_read(offsets), "nothing was left to go on with"
    job.configure({"source": {"max_offsets_per_trigger": 200_000}})
    job.finish(offsets)
    assert tables.as_facts(job.tables) == folded((records, DEFAULT_SETTINGS))


def test_a_batch_that_lost_its_commit_ends_once_and_under_the_settings_that_began_it(
    kafka: LoopbackKafka, topic: str, make_job: MakeJob
) -> None:
    """What a crash between the append and the commit leaves; then a rule is changed."""
    records = recorded("e2e", now_ms(), names=("a_scaleout", "d_sameid"))
    third = len(records) // 3
    first, second, rest = records[:third], records[third : 2 * third], records[2 * third :]
    job = make_job()
    send(kafka, topic, first)
    offsets = end_offsets(kafka, topic)
    job.start()
    job.wait_until(lambda: job.has_read(offsets), "it had read the first part")
    send(kafka, topic, second)
    job.finish(end_offsets(kafka, topic))
    done = job.batches().done
    assert done > 0
    (job.checkpoint / "commits" / str(done)).unlink()
    job.configure(AS_CONFIGURED)
    send(kafka, topic, rest)
    job.finish(end_offsets(kafka, topic))
    expected = folded((first + second, DEFAULT_SETTINGS), (rest, STRICT))
    assert expected != folded((records, STRICT)), "the rule makes no difference: nothing was tested"
    assert tables.as_facts(job.tables) == expected
    assert alerts_in(job) == alert_rows(expected)


def test_an_open_alert_outlives_its_checkpoint(kafka: LoopbackKafka, topic: str, make_job: MakeJob) -> None:
    fleet = Fleet(cluster="e2e")
    fleet.join("x", "y")
    fleet.run(60)
    fleet.own("y", "a0 b0-3")  # a0 belongs to x
    ill = records_of(fleet.run(60))
    fleet.resume("y")
    well = records_of(fleet.run(120))[len(ill) :]
    job = make_job()
    send(kafka, topic, ill)
    job.finish(end_offsets(kafka, topic))
    (open_alert,) = [row for row in newest_alerts(job) if row["state"] != "resolved"]
    assert (open_alert["state"], open_alert["kind"]) == ("firing", "DUPLICATED")

    job.begin_checkpoint("another", shards=7)
    refused = job.command("run")
    assert refused.returncode == REFUSED
    assert "evenkeel reseed" in refused.stderr
    reseeded = job.command("reseed", "--checkpoint", str(job.checkpoint))
    assert reseeded.returncode == 0, reseeded.stderr

    send(kafka, topic, well)
    job.finish(end_offsets(kafka, topic))
    rows = [row for row in tables.rows(job.tables, "alerts") if row["kind"] == "DUPLICATED"]
    assert {row["fingerprint"] for row in rows} == {open_alert["fingerprint"]}
    assert {row["fired_time"] for row in rows if row["fired_time"]} == {open_alert["fired_time"]}
    (last,) = newest_alerts(job)
    assert (last["state"], last["reason"]) == ("resolved", "right_again")
    assert [row["reason"] for row in rows].count("held_long_enough") == 1, "it fired a second time"


def records_of(fleet: Fleet) -> list[Sent]:
    return [Sent(group_key(one.cluster, one.group).encode(), encode_event(one)) for one in fleet.events]


def newest_alerts(job: Job) -> list[tables.Row]:
    """How each alert stands."""
    return list({row["fingerprint"]: row for row in in_order(tables.rows(job.tables, "alerts"))}.values())


def in_order(rows: list[tables.Row]) -> list[tables.Row]:
    return sorted(rows, key=lambda row: (row["cluster"], row["consumer_group"], row["seq"]))


def alerts_in(job: Job) -> list[tuple[str, str, int, str]]:
    rows = in_order(tables.rows(job.tables, "alerts"))
    return [(row["cluster"], row["consumer_group"], row["seq"], row["state"]) for row in rows]


def alert_rows(facts: list[Fact]) -> list[tuple[str, str, int, str]]:
    return sorted(
        (fact.cluster, fact.group, fact.seq, fact.payload.state)
        for fact in facts
        if isinstance(fact.payload, AlertFact)
    )
