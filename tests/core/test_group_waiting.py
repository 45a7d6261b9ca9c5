"""How much waits for a group, also where nothing is wrong: told as it changes, and rarely."""

from itertools import pairwise

from schemas.facts import GroupFact
from streaming.core.waiting import CHANGED_SHARE, LEAST_CHANGE, MOST_QUEUES, TELL_GROUP_WAITING_MS
from tests.core.fleet import Fleet, running


def told(fleet: Fleet) -> list[tuple[int, GroupFact]]:
    return [(fact.ts, fact.payload) for fact in fleet.told(GroupFact)]


def waits(fleet: Fleet) -> int:
    return sum(offset.broker - offset.consumer for offset in fleet.offsets.values())


def fall_behind(fleet: Fleet, each: int) -> None:
    """Consumers stay so far behind from now on, and consume as much as arrives."""
    fleet.behind += each
    for offset in fleet.offsets.values():
        offset.broker += each


def test_a_healthy_group_says_how_much_waits_for_it() -> None:
    fleet = running().run(120)
    fall_behind(fleet, 1_000)
    fleet.run(TELL_GROUP_WAITING_MS // 1000 + 60)
    ts, fact = told(fleet)[-1]
    assert fact.status == "healthy"
    assert fact.waiting is not None
    assert fact.read_ts is not None
    true = waits(fleet)
    assert true > 1_000
    assert abs(fact.waiting - true) <= max(CHANGED_SHARE * true, LEAST_CHANGE)
    assert ts - fact.read_ts < 120_000
    assert sum(queue.waiting for queue in fact.fullest) == fact.waiting
    assert 0 < len(fact.fullest) <= MOST_QUEUES
    assert [one.waiting for one in fact.fullest] == sorted((one.waiting for one in fact.fullest), reverse=True)


def test_news_of_it_come_at_most_every_five_minutes() -> None:
    fleet = running().run(120)
    for _ in range(60):
        fall_behind(fleet, 500)
        fleet.run(60)
    steps = [later - earlier for (earlier, _), (later, _) in pairwise(told(fleet)[-8:])]
    assert steps
    assert min(steps) >= TELL_GROUP_WAITING_MS


def test_a_group_that_keeps_up_says_it_once_an_hour() -> None:
    fleet = running().run(120)
    before = len(told(fleet))
    fleet.run(3_000)
    assert len(told(fleet)) == before
