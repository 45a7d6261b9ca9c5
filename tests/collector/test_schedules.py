"""What is asked when: clients, offsets, groups, routes and brokers, on a clock of the test's own."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.collector.probing import client_schedule, offset_schedule
from streaming.collector.probing.broker_directory import BrokerDirectory
from streaming.collector.probing.client_schedule import (
    CLIENT_PAUSE_MS,
    FIRST_ASK_AFTER_JOIN_MS,
    FOLLOW_UPS_A_MINUTE,
    MAX_BACKOFF_MS,
    NO_ANSWER,
    SILENT_AFTER,
    SILENT_MS,
    SLOW_ANSWER_MS,
    ClientSchedule,
)
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS, LOOK_MS, GroupSchedule
from streaming.collector.probing.memory import SlowClient
from streaming.collector.probing.offset_schedule import OffsetSchedule
from streaming.collector.probing.policy import DEFAULT_POLICY, Policy
from streaming.collector.probing.route_probe import RETRY_ROUTE_MS, RouteSchedule
from streaming.collector.wire.answers import OffsetRow

NOW = 1_700_000_000_000
AT_ONCE = replace(DEFAULT_POLICY, spreads=False)
PERIOD = AT_ONCE.running_info_ms


def clients(policy: Policy = AT_ONCE, ids: tuple[str, ...] = ("c",)) -> ClientSchedule:
    schedule = ClientSchedule(policy)
    schedule.know("g", ids, NOW)
    return schedule


def answer(schedule: ClientSchedule, ts: int, dur_ms: float = 10, trouble: str = "", group: str = "g") -> None:
    assert schedule.choose(group, ts).ask == ("c",)
    schedule.answered(group, "c", ts, dur_ms, trouble)


def test_client_is_asked_again_after_its_period() -> None:
    schedule = clients()
    answer(schedule, NOW)
    assert schedule.choose("g", NOW + PERIOD - 1).ask == ()
    assert schedule.choose("g", NOW + PERIOD).ask == ("c",)


def test_client_is_not_asked_twice_at_once() -> None:
    schedule = clients()
    schedule.choose("g", NOW)
    chosen = schedule.choose("g", NOW + 10 * PERIOD)
    assert (chosen.ask, chosen.not_asked) == ((), {"c": client_schedule.STILL_BUSY})


def test_client_of_two_groups_waits_for_no_turn_in_one_that_may_not_be_asked() -> None:
    schedule = clients()
    schedule.know("new", ("c",), NOW)
    assert schedule.choose("new", NOW, "its queues are new").not_asked == {"c": "its queues are new"}
    answer(schedule, NOW)
    answer(schedule, NOW + PERIOD)
    assert schedule.choose("new", NOW + PERIOD + 10).ask == ("c",)


def test_client_of_two_groups_rests_between_them() -> None:
    policy = DEFAULT_POLICY
    schedule = clients(policy)
    schedule.know("h", ("c",), NOW)
    late = NOW + 2 * PERIOD
    answer(schedule, late)
    assert schedule.choose("h", late + 10).not_asked == {"c": client_schedule.OTHER_GROUP}
    assert schedule.choose("h", late + 10 + CLIENT_PAUSE_MS).ask == ("c",)


def test_clients_that_are_there_from_the_start_can_be_left_alone_at_first() -> None:
    schedule = ClientSchedule(replace(DEFAULT_POLICY, spreads=False, first_ask_ms=1))
    schedule.know("g", ("c",), NOW)
    assert schedule.choose("g", NOW) == ((), {})
    assert schedule.choose("g", NOW + 1).ask == ("c",)


def test_client_of_many_groups_is_asked_for_each_in_turn() -> None:
    """One request a round is less than all are due for: still none is left out."""
    schedule, groups = ClientSchedule(DEFAULT_POLICY), [f"g{number}" for number in range(11)]
    for group in groups:
        schedule.know(group, ("c",), NOW)
    asked = []
    for turn in range(110):
        now = NOW + PERIOD + 5_000 * turn
        for group in groups:
            if schedule.choose(group, now).ask:
                asked.append(group)
                schedule.answered(group, "c", now, 10, "")
    assert {group: asked.count(group) for group in groups} == dict.fromkeys(groups, 10)


def test_group_for_which_a_client_cannot_be_asked_does_not_hold_up_the_others() -> None:
    schedule = ClientSchedule(AT_ONCE)
    for group in ("g", "h"):
        schedule.know(group, ("c",), NOW)
    assert schedule.choose("g", NOW).ask == ("c",)
    schedule.not_sent("c")
    assert schedule.choose("g", NOW + 1).not_asked == {"c": client_schedule.OTHER_GROUP}
    assert schedule.choose("h", NOW + 1).ask == ("c",)


@pytest.mark.parametrize(("dur_ms", "trouble"), [(SLOW_ANSWER_MS + 1, ""), (10_000, "no answer within 10 s")])
def test_slow_client_is_asked_ever_less_often_and_the_reason_is_told(dur_ms: float, trouble: str) -> None:
    schedule, ts = clients(), NOW
    for period in (2 * PERIOD, 60_000, 60_000):
        answer(schedule, ts, dur_ms, trouble)
        ((client_id, why),) = schedule.choose("g", ts + int(dur_ms) + period - 1).not_asked.items()
        assert client_id == "c"
        assert why.startswith("backing off after ")
        ts += int(dur_ms) + period
    answer(schedule, ts)
    assert schedule.choose("g", ts + PERIOD).ask == ("c",)


def test_client_that_has_never_answered_is_asked_every_ten_minutes() -> None:
    schedule, ts = clients(), NOW
    for period in (2 * PERIOD, 60_000, 60_000, 60_000, SILENT_MS, SILENT_MS):
        answer(schedule, ts, 10_000, NO_ANSWER)
        assert schedule.choose("g", ts + 10_000 + period - 1).ask == ()
        ts += 10_000 + period
    answer(schedule, ts)
    assert schedule.choose("g", ts + PERIOD).ask == ("c",)


@pytest.mark.parametrize(("at_first", "trouble"), [("", NO_ANSWER), (NO_ANSWER, "broker-a: code 1")])
def test_client_that_has_answered_or_whose_broker_fails_is_asked_once_a_minute(at_first: str, trouble: str) -> None:
    schedule, ts = clients(), NOW
    answer(schedule, ts, 5, at_first)
    ts += 5 + 2 * PERIOD
    for _ in range(2 * SILENT_AFTER):
        answer(schedule, ts, 10_000, trouble)
        ts += 10_000 + 60_000
    assert schedule.choose("g", ts).ask == ("c",)


def started_again(before: ClientSchedule, now: int, ids: tuple[str, ...] = ("c",)) -> ClientSchedule:
    """Another life of the collector, which takes over what it knew of slow clients."""
    again = ClientSchedule(AT_ONCE)
    again.recall(before.slow(now), now)
    again.know("g", ids, now)
    return again


def test_slow_client_rests_as_long_after_a_start_as_before() -> None:
    before = clients()
    answer(before, NOW, SLOW_ANSWER_MS + 1)
    again = started_again(before, NOW)
    assert again.choose("g", NOW + 2 * PERIOD - 1).ask == ()
    assert "before this start" in again.choose("g", NOW + 2 * PERIOD - 1).not_asked["c"]
    assert started_again(again, NOW).choose("g", NOW + 2 * PERIOD - 1).ask == ()
    answer(again, NOW + 2 * PERIOD)
    assert again.slow(NOW + 2 * PERIOD) == {}


def test_client_that_has_never_answered_is_not_asked_sooner_after_a_start() -> None:
    before, ts = clients(), NOW
    for _ in range(SILENT_AFTER):
        ts += SILENT_MS
        answer(before, ts, 10_000, NO_ANSWER)
    again = started_again(before, ts + 10_000)
    assert again.choose("g", ts + 10_000 + SILENT_MS - 1).ask == ()
    assert again.choose("g", ts + 10_000 + SILENT_MS).ask == ("c",)


def test_slow_client_is_asked_though_no_life_of_the_collector_is_as_long_as_its_rest() -> None:
    schedule, ts, asked = clients(), NOW, []
    for _ in range(6):
        for _ in range(10):
            if schedule.choose("g", ts).ask:
                asked.append(ts - NOW)
                schedule.answered("g", "c", ts, 10_000, NO_ANSWER)
            ts += 5_000
        schedule = started_again(schedule, ts)
    assert asked == [0, 50_000, 120_000, 190_000, 260_000]


def test_client_that_an_older_collector_remembered_rests_from_the_start_on() -> None:
    again = ClientSchedule(AT_ONCE)
    again.recall({"c": SlowClient(1)}, NOW)
    again.know("g", ("c",), NOW)
    assert again.choose("g", NOW + 2 * PERIOD - 1).ask == ()
    assert again.choose("g", NOW + 2 * PERIOD).ask == ("c",)


def test_client_whose_broker_failed_is_not_remembered_as_slow() -> None:
    schedule = clients()
    answer(schedule, NOW, 10, "broker-a: code 16")
    assert schedule.slow(NOW) == {}
    assert schedule.choose("g", NOW + PERIOD).ask == ()


def test_of_too_many_slow_clients_those_that_are_asked_least_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_schedule, "MOST_SLOW", 2)
    schedule, ts = clients(ids=("c", "d", "e")), NOW
    for slow in (("c", "e"), ("c", "d", "e")):
        for client_id in schedule.choose("g", ts).ask:
            schedule.answered("g", client_id, ts, 2 * SLOW_ANSWER_MS if client_id in slow else 10, "")
        ts += MAX_BACKOFF_MS
    assert schedule.slow(ts).keys() == {"c", "e"}
    monkeypatch.setattr(client_schedule, "MOST_SLOW", 3)
    assert schedule.slow(ts).keys() == {"c", "d", "e"}


def test_client_that_joins_after_a_start_is_asked_as_one_that_is_new() -> None:
    before = clients()
    answer(before, NOW, SLOW_ANSWER_MS + 1)
    again = started_again(before, NOW, ids=())
    assert again.slow(NOW + FIRST_ASK_AFTER_JOIN_MS - 1) == before.slow(NOW)
    assert again.slow(NOW + FIRST_ASK_AFTER_JOIN_MS) == {}
    joined_ts = NOW + FIRST_ASK_AFTER_JOIN_MS
    again.know("g", ("c",), joined_ts)
    assert again.choose("g", joined_ts + FIRST_ASK_AFTER_JOIN_MS).ask == ("c",)


def test_client_that_joins_again_is_asked_as_one_that_is_new() -> None:
    schedule, ts = clients(), NOW
    for _ in range(SILENT_AFTER):
        answer(schedule, ts, 10_000, NO_ANSWER)
        ts += 10_000 + 60_000
    schedule.know("g", (), ts)
    schedule.know("g", ("c",), ts)
    assert schedule.choose("g", ts + FIRST_ASK_AFTER_JOIN_MS).ask == ("c",)


def test_client_that_joins_later_is_given_time_to_settle_in() -> None:
    schedule = clients()
    joined = NOW + 60_000
    schedule.know("g", ("c", "d"), joined)
    assert "d" not in schedule.choose("g", joined + FIRST_ASK_AFTER_JOIN_MS - 1).ask
    schedule = clients()
    schedule.know("g", ("c", "d"), joined)
    assert "d" in schedule.choose("g", joined + FIRST_ASK_AFTER_JOIN_MS).ask


@pytest.mark.parametrize("client_id", [f"d{n}" for n in range(20)])
def test_client_that_left_before_its_turn_is_asked_early_when_it_is_back(client_id: str) -> None:
    """One that comes and goes would have gone each time before its turn, and nobody would know what it owns."""
    schedule, joined = clients(DEFAULT_POLICY), NOW + 60_000
    schedule.know("g", ("c", client_id), joined)
    schedule.know("g", ("c",), joined + FIRST_ASK_AFTER_JOIN_MS)
    schedule.know("g", ("c", client_id), joined + 20_000)
    assert client_id in schedule.choose("g", joined + 20_000 + FIRST_ASK_AFTER_JOIN_MS).ask


@pytest.mark.parametrize(("asked", "away_ms"), [(True, 20_000), (False, client_schedule.BACK_WITHIN_MS)])
def test_client_that_was_asked_before_it_left_or_left_long_ago_waits_for_its_turn(asked: bool, away_ms: int) -> None:
    """In a deploy each client would be asked once more otherwise."""
    ids = tuple(f"d{n}" for n in range(20))
    schedule, joined = clients(DEFAULT_POLICY), NOW + 60_000
    schedule.know("g", ("c", *ids), joined)
    if asked:
        for client_id in schedule.choose("g", joined + 60_000).ask:
            schedule.answered("g", client_id, joined + 60_000, 5, "")
    schedule.know("g", ("c",), joined + 61_000)
    back = joined + 61_000 + away_ms
    schedule.know("g", ("c", *ids), back)
    early = schedule.choose("g", back + FIRST_ASK_AFTER_JOIN_MS).ask
    assert len(set(ids).intersection(early)) < len(ids) / 2


def test_first_requests_are_spread_over_the_period() -> None:
    ids = tuple(f"c{n}" for n in range(200))
    schedule = clients(DEFAULT_POLICY, ids)
    asked = [len(schedule.choose("g", NOW + 5_000 * n).ask) for n in range(1, 5)]
    assert sum(asked) == 200
    assert max(asked) < 80


def test_grpc_clients_are_left_to_their_proxy() -> None:
    schedule = clients(ids=("host@1@0@jbu2ecjs3e",))
    assert schedule.choose("g", NOW).not_asked == {"host@1@0@jbu2ecjs3e": client_schedule.GRPC_CLIENT}


def test_client_that_left_while_it_was_asked_leaves_nothing_behind() -> None:
    schedule = clients()
    schedule.choose("g", NOW)
    schedule.know("g", (), NOW + 1)
    schedule.answered("g", "c", NOW, 5, "")
    schedule.know("g", ("c",), NOW + 2)
    assert schedule.choose("g", NOW + 2 + FIRST_ASK_AFTER_JOIN_MS).ask == ("c",)


@given(
    st.lists(st.tuples(st.sampled_from("gh"), st.sampled_from(["ask", "answer", "know"]), st.integers(0, 30_000)))
)  # fmt: skip
def test_never_two_requests_to_one_client(steps: list[tuple[str, str, int]]) -> None:
    schedule, now, on_its_way = ClientSchedule(DEFAULT_POLICY), NOW, None
    for group, step, later_ms in steps:
        now += later_ms
        if step == "know":
            schedule.know(group, ("c",) if later_ms % 3 else (), now)
        elif step == "answer" and on_its_way:
            schedule.answered(*on_its_way, later_ms, "207" if later_ms % 2 else "")
            on_its_way = None
        elif step == "ask" and schedule.choose(group, now).ask:
            assert on_its_way is None
            on_its_way = group, "c", now


def test_client_is_asked_out_of_turn_and_then_in_turn() -> None:
    schedule = clients(replace(DEFAULT_POLICY, spreads=True))
    answer(schedule, ts := NOW + PERIOD)
    asked = schedule.choose("g", ts + 5_000, out_of_turn={"c"}).ask
    assert asked == ("c",)
    schedule.answered("g", "c", ts + 5_000, 10, "")
    assert schedule.choose("g", ts + 5_000 + PERIOD).ask == ("c",)


def test_client_in_trouble_is_not_asked_out_of_turn() -> None:
    schedule = clients()
    answer(schedule, NOW, 10_000, "no answer within 10 s")
    assert schedule.choose("g", NOW + 30_000, out_of_turn={"c"}).ask == ()


def test_queues_that_are_new_keep_everybody_from_being_asked_out_of_turn() -> None:
    schedule = clients()
    assert schedule.choose("g", NOW, "its queues are new", {"c"}).ask == ()


def test_client_of_a_group_at_rest_is_asked_less_often() -> None:
    policy = DEFAULT_POLICY
    schedule = clients(policy)
    answer(schedule, ts := NOW + PERIOD)
    schedule.rest("g", True)
    assert schedule.choose("g", ts + policy.running_info_at_rest_ms - 1).ask == ()
    schedule.rest("g", False)
    assert schedule.choose("g", ts + PERIOD).ask == ("c",)


def test_first_request_to_a_client_does_not_wait_for_rest() -> None:
    schedule = clients()
    schedule.rest("g", True)
    assert schedule.choose("g", NOW).ask == ("c",)


@given(
    st.lists(
        st.tuples(st.sampled_from("gh"), st.booleans(), st.booleans(), st.integers(0, 6_000), st.integers(1, 11_000)),
        max_size=80,
    )
)
def test_asking_out_of_turn_keeps_the_rules_that_protect_clients(
    steps: list[tuple[str, bool, bool, int, int]],
) -> None:
    """One request at a time, a rest after each answer, and few requests a minute beside those in turn."""
    schedule, now = ClientSchedule(DEFAULT_POLICY), NOW
    for group in "gh":
        schedule.know(group, ("c",), NOW)
    free_ts, asked = 0, []
    for group, is_wanted, is_at_rest, later_ms, dur_ms in steps:
        now += later_ms
        schedule.rest(group, is_at_rest)
        if schedule.choose(group, now, out_of_turn={"c"} if is_wanted else frozenset()).ask:
            assert now >= free_ts
            assert schedule.choose(group, now + 60_000, out_of_turn={"c"}).ask == ()
            asked.append(now)
            now += dur_ms
            schedule.answered(group, "c", asked[-1], dur_ms, "207" if dur_ms > 10_000 else "")
            free_ts = now + CLIENT_PAUSE_MS
    assert most_in_a_minute(asked) <= FOLLOW_UPS_A_MINUTE + 2 * IN_TURN_A_MINUTE


def test_client_that_is_always_wanted_is_asked_a_few_times_a_minute() -> None:
    schedule, asked = clients(DEFAULT_POLICY), []
    for now in range(NOW, NOW + 600_000, 5_000):
        if schedule.choose("g", now, out_of_turn={"c"}).ask:
            schedule.answered("g", "c", now, 10, "")
            asked.append(now)
    assert most_in_a_minute(asked) <= FOLLOW_UPS_A_MINUTE + IN_TURN_A_MINUTE


IN_TURN_A_MINUTE = 1 + 60_000 // (PERIOD - PERIOD // 2)  # the turn after a request out of turn may come earlier


def most_in_a_minute(asked: list[int]) -> int:
    return max((sum(first <= ts < first + 60_000 for ts in asked) for first in asked), default=0)


def row(consumer: int, broker: int = 5) -> OffsetRow:
    return OffsetRow("T", 0, "b", broker_offset=broker, consumer_offset=consumer)


def test_offsets_of_a_group_at_rest_are_asked_less_often() -> None:
    schedule, ts = OffsetSchedule(AT_ONCE), NOW
    for _ in range(3):
        assert schedule.choose("g", frozenset("b"), ts) == ["b"]
        schedule.answered("g", "b", ts, (row(5),))
        ts += AT_ONCE.offsets_ms
    assert schedule.choose("g", frozenset("b"), ts) == []
    ts += AT_ONCE.idle_offsets_ms - AT_ONCE.offsets_ms
    assert schedule.choose("g", frozenset("b"), ts) == ["b"]
    schedule.answered("g", "b", ts, (row(5, broker=6),))
    assert schedule.choose("g", frozenset("b"), ts + AT_ONCE.offsets_ms) == ["b"]


@pytest.mark.parametrize("has_failed", [True, False])
def test_offsets_that_fail_or_leave_messages_waiting_are_asked_as_often_as_ever(has_failed: bool) -> None:
    schedule, ts = OffsetSchedule(AT_ONCE), NOW
    for consumed in range(9):
        assert schedule.choose("g", frozenset("b"), ts) == ["b"]
        schedule.answered("g", "b", ts, None if has_failed else (row(consumed, broker=consumed + 1),))
        ts += AT_ONCE.offsets_ms


STALL, SURELY = AT_ONCE.timing.stall_ms, offset_schedule.SURELY_MS


def offsets_asked(until: int, consumed: Callable[[int], int], pulled: Callable[[int], int] | None = None) -> list[int]:
    """When a broker is asked, in rounds of 5 s, where messages wait in a queue that has these offsets at each time."""
    schedule, asked = OffsetSchedule(AT_ONCE), []
    for ts in range(0, until, AT_ONCE.interval_ms):
        for name in schedule.choose("g", frozenset("b"), ts):
            asked.append(ts)
            offsets = OffsetRow("T", 0, "b", 10**9, consumed(ts), (pulled or consumed)(ts))
            schedule.answered("g", name, ts, (offsets,))
    return asked


def test_offsets_of_a_queue_that_stands_still_are_asked_just_after_it_is_proven() -> None:
    assert offsets_asked(100_000, lambda _: 4) == [0, 20_000, 40_000, 65_000, 85_000]


def test_offsets_that_move_are_asked_in_turn() -> None:
    assert offsets_asked(100_000, lambda ts: ts) == [0, 20_000, 40_000, 60_000, 80_000]


def test_offsets_of_a_queue_that_is_pulled_and_not_consumed_are_asked_after_the_longer_time() -> None:
    asked = offsets_asked(400_000, lambda _: 4, lambda ts: 4 + ts)
    assert asked[:4] == [0, 20_000, 40_000, 60_000]
    assert [ts for ts in asked if ts % 20_000] == [ts for ts in asked if ts >= 300_000]
    assert AT_ONCE.timing.consume_stall_ms + AT_ONCE.interval_ms in asked


def test_a_queue_that_moved_begins_to_stand_still_again() -> None:
    assert offsets_asked(130_000, lambda ts: min(ts, 40_000)) == [0, 20_000, 40_000, 60_000, 80_000, 105_000, 125_000]


def test_a_broker_without_pull_offsets_shows_a_stall_by_the_consumer_offset() -> None:
    assert offsets_asked(90_000, lambda _: 4, lambda _: -1) == [0, 20_000, 40_000, 65_000, 85_000]


def test_offsets_of_a_group_that_lost_its_members_are_asked_sooner() -> None:
    schedule = OffsetSchedule(AT_ONCE)
    schedule.choose("g", frozenset("b"), NOW)
    schedule.answered("g", "b", NOW, (row(5),))
    schedule.ask_by("g", NOW + 5_000)
    schedule.ask_by("unknown", NOW)
    assert schedule.choose("g", frozenset("b"), NOW + 4_999) == []
    assert schedule.choose("g", frozenset("b"), NOW + 5_000) == ["b"]


@pytest.mark.parametrize("broker", ["b0", "b1", "b2", "b3", "b4"])
def test_a_broker_that_does_not_answer_now_and_then_keeps_its_turn(broker: str) -> None:
    """It was given a new first turn each time, and was never asked where that came later than its next absence."""
    policy, asked = DEFAULT_POLICY, 0
    schedule = OffsetSchedule(policy)
    for second in range(0, 600, 5):
        for name in schedule.choose("g", frozenset([broker] if second % 15 < 5 else []), NOW + second * 1_000):
            asked += 1
            schedule.answered("g", name, NOW + second * 1_000, (row(4),))
    assert asked > 600_000 // policy.offsets_ms // 2


def test_dead_group_costs_a_look_a_minute_and_is_found_when_it_lives() -> None:
    groups = GroupSchedule(AT_ONCE)
    groups.know("a", ["g"])
    assert groups.to_look_at(NOW) == ["g"]
    groups.looked_at("g", False, NOW)
    assert (groups.to_look_at(NOW + LOOK_MS - 1), groups.to_probe(NOW + LOOK_MS - 1)) == ([], [])
    assert groups.to_look_at(NOW + LOOK_MS) == ["g"]
    groups.looked_at("g", True, NOW + LOOK_MS)
    assert groups.to_probe(NOW + LOOK_MS) == ["g"]


def test_group_that_loses_its_members_gets_every_round_then_few_then_none() -> None:
    groups = GroupSchedule(AT_ONCE)
    groups.know("a", ["g"])
    groups.looked_at("g", True, NOW)
    groups.probed("g", False, NOW + KEEP_WATCHING_MS)
    assert groups.to_probe(NOW + KEEP_WATCHING_MS + 1) == ["g"]
    groups.probed("g", False, NOW + KEEP_WATCHING_MS + 1)
    assert groups.to_probe(NOW + KEEP_WATCHING_MS + LOOK_MS) == []
    assert groups.to_probe(NOW + KEEP_WATCHING_MS + 1 + LOOK_MS) == ["g"]
    groups.probed("g", False, NOW + AT_ONCE.report_empty_ms + 1)
    assert list(groups.watched()) == []
    assert groups.to_look_at(NOW + AT_ONCE.report_empty_ms + 1 + LOOK_MS) == ["g"]


def test_group_that_must_never_be_empty_is_told_without_members_too() -> None:
    groups = GroupSchedule(replace(DEFAULT_POLICY, is_always_on=lambda name: name == "g"))
    groups.know("a", ["g", "h"])
    assert (groups.to_probe(NOW), groups.to_look_at(NOW)) == (["g"], ["h"])
    groups.probed("g", False, NOW)
    assert groups.to_probe(NOW + LOOK_MS) == ["g"]


def test_deleted_group_is_forgotten_once_it_is_no_longer_told() -> None:
    groups = GroupSchedule(AT_ONCE)
    groups.know("a", ["g", "h"])
    groups.looked_at("g", True, NOW)
    groups.know("a", [])
    assert (groups.to_look_at(NOW), groups.to_probe(NOW), groups.counts()) == ([], ["g"], (1, 0))


@pytest.mark.parametrize(
    ("group", "covered"),
    [
        ("order-1", True),
        ("order-test", False),
        ("other", False),
        ("MQ_INST_1%order-1", False),
        ("CID_RMQ_SYS_TRANS", False),
        ("%RETRY%order-1", False),
    ],
)
def test_patterns_decide_which_groups_are_covered(group: str, covered: bool) -> None:
    assert replace(DEFAULT_POLICY, include=("order-*",), exclude=("*-test",)).covers(group) is covered


@pytest.mark.parametrize("group", ["TOOLS_CONSUMER", "MQ_INST_1%TOOLS_CONSUMER", "CID_ONSAPI_PULL", "%RETRY%g"])
def test_rocketmqs_own_groups_are_never_covered(group: str) -> None:
    assert not DEFAULT_POLICY.covers(group)


def test_routes_of_retry_topics_are_asked_less_often() -> None:
    routes = RouteSchedule(AT_ONCE)
    both = ["T", "%RETRY%g"]
    assert routes.choose(both, NOW) == ["%RETRY%g", "T"]
    for topic in both:
        routes.answered(topic, NOW, True, NOW)
    assert routes.choose(both, NOW + AT_ONCE.route_ms) == ["T"]
    assert routes.choose(both, NOW + RETRY_ROUTE_MS) == ["%RETRY%g", "T"]
    routes.answered("T", NOW + RETRY_ROUTE_MS, False, NOW)
    assert routes.choose(["T"], NOW + RETRY_ROUTE_MS + 1) == ["T"]


def test_a_route_that_was_answered_a_moment_after_its_round_is_due_in_time() -> None:
    routes = RouteSchedule(AT_ONCE)
    routes.choose(["T"], NOW)
    routes.answered("T", NOW + 40, True, NOW)
    rounds = range(AT_ONCE.interval_ms, AT_ONCE.route_ms + 1, AT_ONCE.interval_ms)
    assert [after for after in rounds if routes.choose(["T"], NOW + after)] == [AT_ONCE.route_ms]


def test_a_route_was_asked_for_since_then_or_not() -> None:
    routes = RouteSchedule(AT_ONCE)
    assert not routes.is_asked_since("T", NOW)
    routes.answered("T", NOW + 100, True, asked_ts=NOW)
    assert not routes.is_asked_since("T", NOW)
    assert routes.is_asked_since("T", NOW - 1)
    routes.choose(["U"], NOW)
    assert not routes.is_asked_since("T", NOW - 1)


def test_broker_keeps_its_last_address_until_it_is_long_gone() -> None:
    brokers = BrokerDirectory()
    assert brokers.take({"a": "h:1", "b": "h:2"}, NOW) == ["broker a at h:1", "broker b at h:2"]
    assert brokers.take({"a": "h:3"}, NOW + 1) == ["broker a is now at h:3"]
    assert dict(brokers.addresses) == {"a": "h:3", "b": "h:2"}
    assert brokers.take({"a": "h:3"}, NOW + KEEP_WATCHING_MS + 2) != []
    assert dict(brokers.addresses) == {"a": "h:3"}


def test_backlogs_of_groups_without_members_are_asked_a_few_at_a_time_and_counted() -> None:
    groups = GroupSchedule(replace(DEFAULT_POLICY, spreads=False, backlogs=2))
    groups.know("a", ["g", "h", "i", "k"])
    for name in "gh":
        groups.looked_at(name, False, NOW)
    groups.looked_at("i", False, NOW, has_lists=False)
    assert groups.empty() == (4, 2, 2)
    assert groups.to_ask_for_backlog(NOW) == ["g", "h"]
    groups.looked_at("k", False, NOW)
    groups.asked_for_backlog("g", True, True, NOW)
    groups.asked_for_backlog("h", False, False, NOW)
    assert (groups.to_probe(NOW), groups.to_ask_for_backlog(NOW)) == (["g"], ["k"])
    assert groups.empty() == (3, 2, 1)
    groups.asked_for_backlog("k", False, True, NOW)
    assert groups.empty() == (3, 2, 0)
    assert groups.to_ask_for_backlog(NOW + LOOK_MS) == ["h", "k"]


def test_collector_asks_nobody_what_waits_for_groups_without_members() -> None:
    groups = GroupSchedule(AT_ONCE)
    groups.know("a", ["g"])
    groups.looked_at("g", False, NOW)
    assert groups.to_ask_for_backlog(NOW) == []
