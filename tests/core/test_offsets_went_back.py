"""Offsets that go back: what is consumed again, and all that only looks like it."""

import msgspec
import pytest

from schemas.facts import AlertFact
from schemas.identity import MessageQueue
from schemas.observed import OffsetBack, OffsetsBack
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.packing import pack, unpack
from streaming.core.state.restore import GroupSeed, SeedAlert, restore
from tests.core.fleet import T0, Fleet, queues, running, said
from tests.core.test_clock import set_clock
from tests.core.test_polled import Popping

KIND = "OFFSETS_WENT_BACK"
A0 = MessageQueue("T", "a", 0)
LONG_AGO = T0 - 3_600_000  # when the last consumed message was stored


def driven(*, behind: int = 0) -> Fleet:
    """A healthy fleet whose queue a0 the test moves by hand: ``behind`` messages wait in it."""
    fleet = running()
    fleet.stick("a0")
    fleet.offsets[A0].consumer = fleet.offsets[A0].broker - behind
    fleet.run(20)
    return fleet


def read(fleet: Fleet, *offsets: int, consumed_ts: int = LONG_AGO) -> None:
    """a0 has these committed offsets, one after the other, each for 10 s: until the next reading."""
    for offset in offsets:
        fleet.offsets[A0].consumer = fleet.offsets[A0].pulled = offset
        fleet.offsets[A0].consumed_ts = consumed_ts
        fleet.run(10)


def height(fleet: Fleet) -> int:
    """The newest committed offset of a0."""
    return fleet.offsets[A0].consumer


def consume_again(fleet: Fleet, low: int, *, seconds: int = 120, speed: int = 1) -> None:
    read(fleet, *range(low, low + seconds * speed, 10 * speed))


def shown(fleet: Fleet) -> OffsetsBack:
    observed = fleet.alert(KIND).observed.offsets_back
    assert observed is not None
    return observed


# --- what is found


def popping() -> Popping:
    """A group of gRPC clients whose queue a0 the test moves by hand."""
    fleet = Popping(rate=0)
    fleet.run(60)
    fleet.stick("a0")
    fleet.offsets[A0].broker = 1_000
    read(fleet, 1_000)
    fleet.run(60)
    return fleet


def test_clients_that_poll_have_no_place_of_their_own_so_the_next_reading_proves_it() -> None:
    fleet = popping()
    fleet.no_lists = {"a"}
    fleet.run(10)
    fleet.no_lists = set()
    read(fleet, 900)
    fleet.run(15)
    assert not fleet.fired()
    fleet.run(20)
    assert fleet.firing() == {("T", KIND)}
    assert fleet.alert(KIND).severity == "warning"
    assert shown(fleet).queues == (OffsetBack("a", 0, 1_000, 900),)


def test_a_second_of_a_broker_that_lost_its_newest_offsets_is_soon_made_good() -> None:
    fleet = popping()
    read(fleet, 990)
    read(fleet, 1_000)
    fleet.run(120)
    assert not fleet.fired()


def test_an_offset_of_0_may_be_none_where_clients_poll_too() -> None:
    fleet = popping()
    read(fleet, 0)
    fleet.run(60)
    assert not fleet.fired()
    read(fleet, 100)
    fleet.run(20)
    assert fleet.firing() == {("T", KIND)}


def test_an_offset_that_stays_low_is_found_while_it_is_consumed_from_there() -> None:
    fleet = driven()
    high = height(fleet)
    consume_again(fleet, high - 300)
    assert fleet.firing() == {("T", KIND)}
    found = shown(fleet)
    assert (found.queues, found.messages, found.more) == ((OffsetBack("a", 0, high, high - 300),), 300, None)
    assert found.seen_ts - found.before_ts <= 10_000
    alert = fleet.alert(KIND)
    assert [(queue.broker_name, queue.queue_id) for queue in alert.queues] == [("a", 0)]
    assert f"300 messages are consumed again: a/0 from {high} to {high - 300}" in said(alert)


def test_it_is_over_when_the_offset_has_its_old_height() -> None:
    fleet = driven()
    high = height(fleet)
    consume_again(fleet, high - 300)
    read(fleet, high - 1)
    assert fleet.firing() == {("T", KIND)}
    read(fleet, high, high + 10)
    assert fleet.alerts(KIND)[-1][1:] == ("resolved", "right_again")
    assert fleet.state.setbacks == []


def test_without_a_reason_an_operators_reset_looks_the_same_and_nobody_is_called() -> None:
    fleet = driven()
    consume_again(fleet, height(fleet) - 300)
    assert fleet.alert(KIND).severity == "info"
    assert "an operator's reset looks the same" in said(fleet.alert(KIND))
    assert fleet.status().status == "healthy"


def test_a_broker_that_was_away_in_between_is_a_reason() -> None:
    fleet = driven()
    high = height(fleet)
    fleet.down.add("a")
    fleet.run(40)
    fleet.offsets[A0].consumer, fleet.offsets[A0].consumed_ts = high - 300, LONG_AGO
    fleet.restart_brokers("a")
    consume_again(fleet, high - 300)
    alert = fleet.alert(KIND)
    assert (alert.severity, shown(fleet).broker_names) == ("warning", ("a",))
    assert shown(fleet).back_ts is not None
    assert "a gave no list of members in between" in said(alert)
    assert "operator" not in said(alert)


def test_a_broker_that_was_away_for_one_round_is_a_reason_too() -> None:
    """A master that is switched is away for seconds."""
    fleet = driven()
    high = height(fleet)
    fleet.down.add("a")
    fleet.round()
    fleet.down.clear()
    consume_again(fleet, high - 300)
    assert shown(fleet).broker_names == ("a",)


def test_a_broker_that_was_away_before_the_higher_offset_is_none() -> None:
    fleet = driven()
    fleet.down.add("a")
    fleet.run(40)
    fleet.restart_brokers("a")
    read(fleet, height(fleet) + 5)
    consume_again(fleet, height(fleet) - 300)
    assert shown(fleet).broker_names == ()


def test_a_broker_that_refuses_its_list_and_tells_offsets_is_none() -> None:
    """It did so before the higher offset too, so nothing happened in between."""
    fleet = driven()
    fleet.no_lists = {"a"}
    fleet.run(300)
    consume_again(fleet, height(fleet) - 300)
    alert = fleet.alert(KIND)
    assert (alert.severity, shown(fleet).broker_names) == ("info", ())


def test_members_that_changed_shortly_before_are_told() -> None:
    fleet = driven()
    high = height(fleet)
    fleet.leave("y")
    fleet.run(10)
    consume_again(fleet, high - 300)
    assert shown(fleet).changed_ts is not None


def test_clients_that_pull_actively_may_go_back_on_purpose() -> None:
    fleet = driven()
    for one in fleet.instances:
        one.report["consume_type"] = "CONSUME_ACTIVELY"
        one.heartbeat["consume_type"] = "CONSUME_ACTIVELY"
    fleet.run(40)
    fleet.down.add("a")
    fleet.round()
    fleet.down.clear()
    consume_again(fleet, height(fleet) - 300)
    assert fleet.alert(KIND).severity == "info"


def test_the_queues_with_the_most_messages_are_named() -> None:
    fleet = running(120, topics={"T": {"a": 24}})
    fleet.stick("a0-23")
    fleet.run(10)
    high = {queue: fleet.offsets[queue].consumer for queue in queues("a0-23")}
    for second in range(0, 120, 10):
        for queue, offset in high.items():
            fleet.offsets[queue].consumer = offset - 300 - queue.queue_id + second
            fleet.offsets[queue].pulled, fleet.offsets[queue].consumed_ts = fleet.offsets[queue].consumer, LONG_AGO
        fleet.run(10)
    found = shown(fleet)
    assert (len(found.queues), found.more, found.queues[0].queue_id) == (20, 4, 23)
    assert found.messages == 24 * 300 + sum(range(24))
    assert "and 4 more queues" in said(fleet.alert(KIND))


# --- what only looks like it


def test_clients_that_have_their_place_commit_it_again() -> None:
    """A broker that crashed loads offsets of some seconds ago."""
    fleet = driven()
    high = height(fleet)
    read(fleet, high - 300, high + 20, *range(high + 30, high + 200, 10))
    assert fleet.alerts(KIND) == []


def test_the_small_step_of_a_rebalance_is_made_good_within_a_minute() -> None:
    fleet = driven()
    high = height(fleet)
    read(fleet, high - 50, high - 40, high - 30, high - 20, high - 10, high, high + 10)
    assert fleet.alerts(KIND) == []


@pytest.mark.parametrize("ahead_s", [40, 60, 3600])
def test_a_clock_that_is_set_ahead_makes_no_minute_of_seconds(ahead_s: int) -> None:
    fleet = driven()
    high = height(fleet)
    read(fleet, high - 300, high - 200)
    set_clock(fleet, ahead_s)
    read(fleet, high - 100, high + 10, high + 20, high + 30)
    assert fleet.alerts(KIND) == []


def test_messages_that_were_in_flight_are_none() -> None:
    """What is consumed again was stored less than a minute before, however long that takes."""
    fleet = driven()
    high, stored_ts = height(fleet), T0 + round(fleet.now * 1000) - 30_000
    read(fleet, *range(high - 50, high - 20, 1), consumed_ts=stored_ts)
    assert fleet.alerts(KIND) == []


def test_what_nobody_consumes_is_not_consumed_again() -> None:
    """An offset that was put back while all are away, or while the queue stands still. Both have findings of theirs."""
    fleet = driven()
    high = height(fleet)
    read(fleet, *[high - 300] * 20)
    assert fleet.alerts(KIND) == []
    read(fleet, *range(high - 290, high - 240, 10))
    assert fleet.alerts(KIND) == []  # from now on it counts
    read(fleet, *range(high - 240, high - 200, 10))
    assert fleet.firing() >= {("T", KIND)}


def test_a_topic_that_was_made_again_has_other_messages() -> None:
    fleet = driven()
    fleet.offsets[A0].broker = 50
    read(fleet, *range(15))
    assert fleet.alerts(KIND) == []
    assert fleet.state.setbacks == []


def test_a_topic_that_is_made_again_later_ends_it() -> None:
    fleet = driven()
    consume_again(fleet, height(fleet) - 300)
    fleet.offsets[A0].broker = 50
    read(fleet, 0, 1, 2)
    assert fleet.alerts(KIND)[-1][1:] == ("resolved", "right_again")


def test_an_offset_beyond_the_end_was_none() -> None:
    fleet = driven()
    high = height(fleet)
    fleet.rate = 0
    read(fleet, high + 5_000)
    read(fleet, *range(high - 300, high - 180, 10))
    assert fleet.alerts(KIND) == []


def test_an_offset_that_is_not_known_is_none() -> None:
    fleet = driven()
    high = height(fleet)
    fleet.without_offset = {A0}
    read(fleet, *[high] * 3)
    fleet.without_offset = set()
    consume_again(fleet, high + 1)
    assert fleet.alerts(KIND) == []


def test_what_was_only_counted_is_no_height() -> None:
    """The group's first offset in a queue, where what arrived was counted before."""
    fleet = Fleet()
    fleet.without_offset = {A0}
    fleet.stick("a0")
    fleet.join("x", "y")
    fleet.run(120)
    fleet.without_offset = set()
    read(fleet, *range(10, 30))
    assert fleet.alerts(KIND) == []


def test_an_offset_of_0_may_be_none_until_it_is_consumed_from_there() -> None:
    fleet = driven()
    high = height(fleet)
    read(fleet, *[0] * 12)
    assert fleet.alerts(KIND) == []
    read(fleet, high + 200, high + 210)  # consumeFromWhere: from the end
    assert fleet.alerts(KIND) == []
    assert fleet.state.setbacks == []


def test_two_owners_commit_by_turns() -> None:
    """Whose offset is read is chance. What counts is what is left when one of them is gone."""
    fleet = driven()
    high = height(fleet)
    fleet.own("x", "a0-3")
    fleet.own("y", "a0 b0-3")
    read(fleet, *[high + n for n in range(9)])
    assert fleet.finding("a0").finding == "DUPLICATED"
    read(fleet, *range(high - 300, high - 150, 10))
    assert fleet.alerts(KIND) == []
    fleet.own("y", "b0-3")
    read(fleet, *range(high - 150, high - 30, 10))
    assert fleet.alert(KIND).severity == "warning"
    assert shown(fleet).owned_twice
    assert "two clients may have consumed them" in said(fleet.alert(KIND))


def test_broadcasting_clients_keep_their_offsets_to_themselves() -> None:
    fleet = driven()
    for one in fleet.instances:
        one.report["message_model"] = one.heartbeat["message_model"] = "BROADCASTING"
    fleet.balance()
    fleet.run(60)
    consume_again(fleet, height(fleet) - 300)
    assert fleet.alerts(KIND) == []


# --- its life


def test_a_second_step_back_is_the_same() -> None:
    fleet = driven()
    high = height(fleet)
    consume_again(fleet, high - 200)
    consume_again(fleet, high - 300, seconds=30)
    (alert,) = fleet.state.alerts
    assert alert.observed.offsets_back is not None
    assert alert.observed.offsets_back.queues == (OffsetBack("a", 0, high, high - 300),)
    assert [state for _, state, _ in fleet.alerts(KIND)].count("firing") == 1


@pytest.mark.parametrize("seconds", [30, 120])
def test_a_setback_is_packed_with_its_group(seconds: int) -> None:
    fleet = driven()
    consume_again(fleet, height(fleet) - 300, seconds=seconds)
    fleet.state = unpack(pack(fleet.state))
    (setback,) = fleet.state.setbacks
    assert setback.is_proven is (seconds > 60)


def test_it_is_found_and_dated_though_the_clock_is_set_back() -> None:
    fleet = driven()
    set_clock(fleet, 3600)
    fleet.run(60)
    high = height(fleet)
    fleet.leave("y")
    fleet.down.add("a")
    fleet.run(20)
    fleet.down.clear()
    read(fleet, high - 300, high - 290)
    set_clock(fleet, -3600)
    read(fleet, *range(high - 280, high - 130, 10))
    assert ("T", KIND) in fleet.firing()
    found = shown(fleet)
    (setback,) = fleet.state.setbacks
    assert T0 < found.before_ts < setback.back_ts <= found.seen_ts <= setback.from_ts < fleet.state.now
    assert found.before_ts <= setback.changed_ts <= found.seen_ts


def test_it_goes_on_in_a_new_checkpoint() -> None:
    fleet = driven()
    high = height(fleet)
    consume_again(fleet, high - 300)
    alert = fleet.alert(KIND)
    seed = GroupSeed(cluster="c", group="g", now=fleet.state.now, next_seq=1, alerts=(SeedAlert("T", alert),))
    fleet.state = restore(msgspec.json.encode(seed), DEFAULT_SETTINGS)
    fleet.facts.clear()
    read(fleet, *range(high - 180, high - 150))
    assert ("T", KIND) in fleet.firing()
    read(fleet, *range(high, high + 10))
    assert [fact.payload.reason for fact in fleet.told(AlertFact) if fact.payload.kind == KIND][-1] == "right_again"
