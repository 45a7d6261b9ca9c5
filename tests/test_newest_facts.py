"""One rule says which fact is newest, for the pages, ``explain`` and the notifier."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.facts import FAILED, Fact, GroupFact, HealthFact
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.newest_facts import ClusterHealth, health_after, newest_alerts, newest_facts, newest_group
from streaming.notifier.open_alerts import OpenAlerts
from streaming.web.views.known import Known
from tests.explain.facts import facts_of_scenario
from tests.notifier.facts import NOW, S, health

SCENARIO = "same_client_id"


def health_of(*facts: Fact) -> ClusterHealth:
    known = None
    for fact in facts:
        assert isinstance(fact.payload, HealthFact)
        known = health_after(known, fact, fact.payload)
    assert known is not None
    return known


def of_group(seq: int, status: str, brokers: int = 1) -> Fact:
    return Fact(seq, "c", "g", None, NOW + seq * S, GroupFact(
        status=status, members=1, queues=1, counts={}, brokers_covered=brokers, brokers_known=2, members_reporting=1,
    ))  # fmt: skip


@pytest.mark.slow("a tenth of a second of work and more")
@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(random: Random) -> None:
    facts = list(facts_of_scenario(SCENARIO))
    mixed = random.choices(facts, k=len(facts)) + random.sample(facts, len(facts))
    assert {id(fact) for fact in newest_facts(mixed)} == {id(fact) for fact in newest_facts(facts)}


@pytest.mark.parametrize("seed", range(3))
def test_pages_explain_and_notifier_take_the_same_facts_for_the_newest(seed: int) -> None:
    facts = list(facts_of_scenario(SCENARIO))
    mixed = Random(seed).sample(facts, len(facts))
    known, notified, explained = Known(), OpenAlerts(), snapshot_of(mixed)
    known.take(mixed)
    notified.take(mixed)
    newest = {alert.fact.fingerprint: alert for alert in newest_alerts(mixed)}
    assert known.alerts == newest
    assert notified.alerts == {name: alert for name, alert in newest.items() if alert.fact.state == "firing"}
    assert {one.fingerprint: one.state for one in explained.alerts if one.state != "resolved"} == {
        name: alert.fact.state for name, alert in newest.items() if alert.fact.state != "resolved"
    }
    assert explained.queues == snapshot_of(facts).queues
    assert explained.members == snapshot_of(facts).members
    assert explained.status == known.groups[facts[0].cluster, facts[0].group].status.status


def test_a_status_is_so_since_it_was_another_one_and_its_numbers_since_they_were_others() -> None:
    told = [of_group(1, "healthy"), of_group(2, "findings"), of_group(3, "findings", 2), of_group(2, "healthy")]
    known = newest_group(told)
    assert known is not None
    assert (known.ts, known.since_ts, known.counted_ts, known.since_is_lower_bound) == (
        NOW + 3 * S,
        NOW + 2 * S,
        NOW + 3 * S,
        False,
    )


def test_health_that_is_read_late_does_not_hide_that_the_job_has_failed() -> None:
    known = health_of(health(at=0), health(at=30, status=FAILED, rounds=0, lag=2), health(at=15))
    assert (known.status, known.ts, known.health_ts) == (FAILED, NOW + 30 * S, NOW)
    assert known.newest_round_ts == NOW + 28 * S
    assert health_of(health(at=30, status=FAILED), health(at=45)).status == "ok"


def test_the_newest_health_that_counts_a_round_is_kept_beside_the_newest() -> None:
    quiet = [health(at=at, rounds=0, lag=at) for at in (15, 30)]
    assert newest_facts([health(at=0), *quiet]) == [quiet[-1], health(at=0)]
