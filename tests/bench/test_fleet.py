"""The benchmark's fleet: real events, in a collector's proportion, of groups that are well."""

from collections import Counter

import pytest

from bench.fleet import CLUSTER, EVENTS_A_ROUND, Fleet, Sent, Shape, stretched_round_ms
from schemas.events import AnyEvent, Round, decode_event, encode_event
from schemas.facts import EventsLostFact, Fact, GroupFact, MembershipFact, QueueFact
from schemas.identity import group_key
from streaming.core.settings import Settings
from streaming.core.shard import Record, fold

START_TS = 1_790_000_000_000
ROUNDS = 12  # after so many, everything has been said equally often


def test_events_are_what_the_schema_encodes() -> None:
    fleet = Fleet(Shape(groups=2, churn=0.5), START_TS)
    for key, value in [*fleet.introduce(2), *fleet.backlog(500)]:
        event = decode_event(value)
        assert encode_event(event) == value
        assert key == group_key(CLUSTER, event.group).encode()


def test_proportion_is_the_collectors() -> None:
    fleet = Fleet(Shape(groups=1), START_TS)
    list(fleet.introduce(1))
    events = decoded(fleet.backlog(round(ROUNDS * EVENTS_A_ROUND)))
    assert Counter(type(event).__name__ for event in events) == {
        "Round": 12,
        "AssignmentReport": 60,
        "Heartbeat": 80,
        "ConsumeProgress": 12,
        "TopicRoute": 2,
    }


def test_healthy_fleet_is_found_healthy_and_stays_so() -> None:
    fleet = Fleet(Shape(groups=3), START_TS)
    blob, facts = folded(None, list(fleet.introduce(3)))
    assert {last_status(facts, group) for group in groups_of(facts)} == {"healthy"}
    assert Counter(fact.payload.finding for fact in facts if isinstance(fact.payload, QueueFact)) == {"MATCH": 3 * 34}
    _, later = folded(blob, list(fleet.backlog(2_000)))
    assert later == []


def test_groups_introduced_later_lose_no_event() -> None:
    fleet = Fleet(Shape(groups=4), START_TS)
    records = [*fleet.introduce(2), *fleet.backlog(100), *fleet.introduce(4), *fleet.backlog(300)]
    _, facts = folded(None, records)
    assert len(groups_of(facts)) == 4
    assert not [fact for fact in facts if isinstance(fact.payload, EventsLostFact)]


def test_churn_changes_members_and_settles_again() -> None:
    fleet = Fleet(Shape(groups=1, churn=0.02), START_TS)
    blob, _ = folded(None, list(fleet.introduce(1)))
    _, facts = folded(blob, list(fleet.backlog(4_000)))
    assert [fact for fact in facts if isinstance(fact.payload, MembershipFact)]
    assert "healthy" in {fact.payload.status for fact in facts if isinstance(fact.payload, GroupFact)}


def test_faults_are_found() -> None:
    fleet = Fleet(Shape(groups=5, churn=0.02, faults=1.0), START_TS)
    blob, _ = folded(None, list(fleet.introduce(5)))
    _, facts = folded(blob, list(fleet.backlog(4_000)))
    assert "DUPLICATED" in {fact.payload.finding for fact in facts if isinstance(fact.payload, QueueFact)}


def test_same_seed_gives_the_same_bytes() -> None:
    fleets = [Fleet(Shape(groups=2, churn=0.3), START_TS, seed=seed) for seed in (7, 7, 8)]
    first, again, other = ([*fleet.introduce(2), *fleet.backlog(300)] for fleet in fleets)
    assert first == again
    assert first != other


@pytest.mark.parametrize(("groups", "events_per_s"), [(1_000, 2_000), (10_000, 17_000)])
def test_stretched_rounds_give_the_rate_asked_for(groups: int, events_per_s: int) -> None:
    fleet = Fleet(Shape(groups=10), START_TS, stretched_round_ms(groups, events_per_s))
    list(fleet.introduce(10))
    markers = [event for event in decoded(fleet.backlog(2_000)) if isinstance(event, Round)]
    seconds = (markers[-1].ts - markers[0].ts) / 1000
    assert 2_000 / seconds * groups / 10 == pytest.approx(events_per_s, rel=0.05)


def decoded(records: object) -> list[AnyEvent]:
    return [decode_event(value) for _, value in records]  # type: ignore[attr-defined]


def folded(blob: bytes | None, records: list[Sent]) -> tuple[bytes, list[Fact]]:
    arrived = [
        Record(key, value, len(value), None, START_TS, "events", 0, offset)
        for offset, (key, value) in enumerate(records)
    ]
    result = fold(blob, arrived, Settings())
    return result.blob, result.facts


def groups_of(facts: list[Fact]) -> set[str]:
    return {fact.group for fact in facts}


def last_status(facts: list[Fact], group: str) -> str:
    return [f.payload.status for f in facts if f.group == group and isinstance(f.payload, GroupFact)][-1]
