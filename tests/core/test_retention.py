"""Topics and brokers that nobody needs any more are forgotten; what somebody may still need stays."""

import pytest

from schemas.facts import QueueFact
from streaming.core.retention import FORGET_AFTER_MS
from tests.core.fleet import Fleet, running


def topics(fleet: Fleet) -> list[str]:
    return [topic.name for topic in fleet.state.topics]


def take_up(fleet: Fleet, old: str, new: str, **brokers: int) -> None:
    """All members leave one topic for another, and the collector follows them."""
    fleet.route(new, **brokers)
    del fleet.routes[old]
    for one in fleet.instances:
        one.topics = {new: "*"}
    fleet.offsets = {queue: offsets for queue, offsets in fleet.offsets.items() if queue.topic == new}
    fleet.balance()


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_topic_a_day_leaves_nothing_behind() -> None:
    fleet = running(topics={"T0": {"a": 4, "b": 4}})
    for day in range(5):
        take_up(fleet, f"T{day}", f"T{day + 1}", a=4, b=4)
        fleet.idle(5000)
    assert topics(fleet) == ["T5"]
    assert len(fleet.state.queues) == 8
    assert set(fleet.findings("T5").values()) == {"MATCH"}
    assert fleet.findings("T3") == {}
    assert fleet.status().status == "healthy"
    assert fleet.fired() == set()
    fleet.restart()
    fleet.run(60)
    assert set(fleet.findings("T5").values()) == {"MATCH"}


def test_each_queue_of_a_topic_that_is_forgotten_is_told_to_be_gone_once() -> None:
    fleet = running(clients=("x",))
    take_up(fleet, "T", "U", a=1, b=1)
    fleet.idle(8000)
    gone = [fact for fact in fleet.told(QueueFact) if fact.topic == "T" and not fact.payload.present]
    assert len(gone) == 8


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_broker_that_is_gone_for_good_is_forgotten_and_the_others_keep_their_members() -> None:
    fleet = running(topics={"T": {"a": 2, "b": 2, "c": 2}})
    take_up(fleet, "T", "U", b=2, c=2)
    fleet.idle(6000)
    assert [broker.name for broker in fleet.state.brokers] == ["b", "c"]
    assert fleet.status().brokers_known == 2
    assert set(fleet.findings("U").values()) == {"MATCH"}
    told = len(fleet.facts)
    fleet.run(100)
    assert fleet.facts[told:] == []
    fleet.own("y", "b0 c0-1", "U")
    fleet.run(100)
    assert fleet.firing() == {("U", "DUPLICATED")}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_topic_that_members_subscribe_to_stays_though_no_route_comes() -> None:
    fleet = running(clients=("x",))
    fleet.says_routes = False
    fleet.idle(6000)
    assert topics(fleet) == ["T"]
    assert set(fleet.findings().values()) == {"UNKNOWN"}


def test_a_topic_with_an_open_alert_stays() -> None:
    fleet = running(rate=0)
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}
    fleet.instances.clear()
    fleet.says_routes = False
    fleet.progress_every = 0
    fleet.idle(3500)
    assert topics(fleet) == ["T"]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_group_that_was_forgotten_tells_all_of_its_queues_again() -> None:
    """So maintenance may drop the queues of groups that the job has forgotten."""
    fleet = running(clients=("x",))
    fleet.instances.clear()
    fleet.idle(5000)
    queues = {fact.payload.queue_id for fact in fleet.told(QueueFact) if fact.payload.broker_name == "a"}
    before = len(fleet.told(QueueFact))
    fleet.now += FORGET_AFTER_MS // 1000 - 60
    fleet.run(30)
    assert fleet.told(QueueFact)[before:] == []
    fleet.now += FORGET_AFTER_MS // 1000 + 60
    fleet.run(30)
    again = [fact.payload for fact in fleet.told(QueueFact)[before:]]
    assert {one.queue_id for one in again if one.broker_name == "a"} == queues


def test_an_outage_of_the_collector_forgets_nothing() -> None:
    fleet = running()
    told = len(fleet.told(QueueFact))
    fleet.now += 7200
    fleet.run(120)
    assert topics(fleet) == ["T"]
    assert all(fact.payload.present for fact in fleet.told(QueueFact)[told:])
