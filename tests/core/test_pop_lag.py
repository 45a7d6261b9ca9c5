"""The lag of a group that consumes by POP: what waits, what is in flight, and how old the oldest message is."""

import pytest

from schemas.events import TopicInFlight, TopicPolls
from schemas.facts import GroupFact
from streaming.core.state.packing import pack, unpack
from streaming.core.waiting import TELL_GROUP_WAITING_MS
from tests.core.fleet import T0
from tests.core.test_polled import BROKERS, Popping, settled

HOUR_S = 3_700


def say(fleet: Popping, in_flight: dict[str, int], rounds: int = 1, topic: str = "T") -> None:
    """Rounds in which the brokers' pages have these numbers."""
    for _ in range(rounds):
        ts = fleet._ts() + round(fleet.every * 1000)
        fleet.round(in_flight=tuple(TopicInFlight(broker, topic, ts, number) for broker, number in in_flight.items()))


def last(fleet: Popping) -> tuple[bool | None, int | None, int | None]:
    fact = fleet.status()
    return fact.fifo, fact.in_flight, fact.in_flight_ts


def test_in_flight_is_the_sum_of_all_brokers() -> None:
    fleet = settled()
    say(fleet, {"a": 3_000, "b": 200})
    read_ts = fleet.state.now
    fleet.run(TELL_GROUP_WAITING_MS // 1000 + 60)
    say(fleet, {"a": 4_000, "b": 900}, HOUR_S // 5)
    assert last(fleet)[:2] == (False, 4_900)
    in_flight_ts = last(fleet)[2]
    assert in_flight_ts is not None
    assert in_flight_ts > read_ts


def test_a_number_that_changed_is_told_within_minutes_though_nothing_waits() -> None:
    fleet = settled()
    say(fleet, {"a": 0, "b": 0}, HOUR_S // 5)
    before = len(fleet.told(GroupFact))
    say(fleet, {"a": 5_000, "b": 0}, (TELL_GROUP_WAITING_MS // 1000 + 60) // 5)
    assert len(fleet.told(GroupFact)) > before
    assert last(fleet)[1] == 5_000


@pytest.mark.parametrize("said", [{}, {"a": 7}])
def test_in_flight_is_not_known_unless_all_brokers_say_it(said: dict[str, int]) -> None:
    fleet = settled()
    say(fleet, said, HOUR_S // 5)
    assert last(fleet) == (False, None, None)


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize(("broker", "known"), [("a", True), ("c", False)])
def test_polls_at_a_single_queue_hide_no_number_of_all_queues_there(broker: str, known: bool) -> None:
    """And where clients poll single queues only, there is no such number."""
    fleet = settled()
    fleet.route("T", a=4, b=4, c=4)
    for _ in range(HOUR_S // 5):
        ts = fleet._ts() + round(fleet.every * 1000)
        in_flight = tuple(TopicInFlight(name, "T", ts, 7) for name in BROKERS)
        fleet.round(in_flight=in_flight, polls=(*fleet._polls(), TopicPolls(broker, "T", 1, ts, 1)))
    assert last(fleet)[:2] == (False, 14 if known else None)


def test_an_old_number_says_nothing() -> None:
    fleet = settled()
    say(fleet, dict.fromkeys(BROKERS, 7))
    fleet.run(HOUR_S)
    assert last(fleet) == (False, None, None)


def test_what_is_older_than_a_number_that_is_known_changes_nothing() -> None:
    fleet = settled()
    say(fleet, dict.fromkeys(BROKERS, 7))
    fleet.round(in_flight=(TopicInFlight("a", "T", T0 + 1, 99), TopicInFlight("x", "T", fleet._ts(), 1)))
    say(fleet, {"a": 5}, topic="other")
    assert {one.in_flight for topic in fleet.state.topics for one in topic.polls} == {7}
    assert unpack(pack(fleet.state)) == fleet.state


def test_of_a_fifo_group_what_waits_is_in_flight_too() -> None:
    fleet = Popping()
    fleet.round_fields = {"orderly": True}
    fleet.run(HOUR_S)
    assert last(fleet)[0] is True


def test_the_oldest_message_that_waits_is_told() -> None:
    fleet = settled()
    assert fleet.status().oldest_ts is None
    for offsets in fleet.offsets.values():
        offsets.consumed_ts = fleet._ts()
    oldest_ts = fleet._ts()
    fleet.silence("a")
    fleet.run(600)
    assert fleet.status().oldest_ts == oldest_ts
    assert (fleet.status().waiting or 0) > 0


def test_nothing_is_kept_or_told_of_a_group_without_polls() -> None:
    fleet = Popping()
    fleet.polls = {}
    fleet.run(60)
    say(fleet, dict.fromkeys(BROKERS, 7), HOUR_S // 5)
    assert not any(topic.polls for topic in fleet.state.topics)
    assert last(fleet) == (None, None, None)
    assert fleet.status().oldest_ts is None
