"""What a picture of a group says, by what was seen of it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from schemas.events import AnyEvent, BrokerAnswer, ConsumeProgress, Round, RouteQueues, Subscription, TopicRoute
from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.intake.size_limits import CLIENTS_AT_MOST
from streaming.core.settings import GroupRule, Settings
from streaming.inspect import group_evaluation
from streaming.inspect.group_evaluation import NO_ROUND
from streaming.inspect.snapshot import InspectedGroup
from tests.core.fleet import Fleet
from tests.core.test_polled import Popping
from tests.inspect.looks import fleet, looked_at, not_asked, page, picture, watch_of


def two() -> Fleet:
    one = fleet()
    one.join("x", "y")
    return one


def odd(change: Callable[[Fleet], Any]) -> Fleet:
    one = two()
    change(one)
    return looked_at(one)


def questions(one: InspectedGroup) -> set[tuple[str, tuple[tuple[str, int], ...]]]:
    return {(each.kind, each.queues) for each in one.undecided}


def test_all_is_well_once_everybody_has_said_so() -> None:
    seen = picture(looked_at(two()))
    assert (seen.status, seen.findings, seen.undecided, seen.notes) == ("healthy", (), (), ())
    assert [(m.client_id, m.answered, m.queues, m.in_per_s, m.lag) for m in seen.members] == [
        ("x", True, 4, 16.0, 0),
        ("y", True, 4, 16.0, 0),
    ]
    assert {(q.finding, q.owners == q.expected, q.in_per_s) for q in seen.queues} == {("MATCH", True, 4.0)}
    assert [(b.broker_name, b.answered, b.listed) for b in seen.brokers] == [("a", True, 2), ("b", True, 2)]


def test_of_clients_that_own_no_queue_it_says_where_they_poll_and_who_lists_them() -> None:
    one = Popping(rate=0)
    one.every, one.progress_every = 2, 2
    seen = picture(one.run(8))
    assert {(p.topic, p.broker_name, p.queues, p.waiting, p.ready, p.taken_ts) for p in seen.polls} == {
        ("T", "a", 4, 2, 0, None),
        ("T", "b", 4, 2, 0, None),
    }
    shown = page(seen, verbose=True)
    assert re.search(r"topic +broker +queues +polls +read +last poll +taken +ready +as of", shown)
    assert re.search(r"T +a +4 +2 +0 s ago +0 s ago +none seen +0", shown)
    assert "10.0.0.5:8080, 10.0.0.6:8080" in page(seen, width=160, verbose=True)


def test_nobody_is_healthy_before_clients_were_asked() -> None:
    one = two()
    one.run(4)
    seen = picture(one)
    assert seen.status == "unknown"
    assert {m.why_not for m in seen.members} == {"not asked yet"}


def test_route_that_is_too_large_is_named_and_the_group_is_not_healthy() -> None:
    one = looked_at(two())
    huge = (RouteQueues("a", 2_000_000_000, 2_000_000_000, 6),)
    one.say(TopicRoute, one.now, topic="Huge", brokers=huge)
    seen = picture(one)
    assert seen.status == "unknown"
    (question,) = seen.undecided
    assert question.evidence.startswith("the route of Huge was received and refused: 2000000008 queues of one group")
    assert "the route of Huge" in page(seen)
    one.say(TopicRoute, one.now + 1, topic="Huge", brokers=())
    assert picture(one).undecided == ()


def test_lists_that_are_too_long_are_why_no_round_has_ended() -> None:
    one = fleet()
    ids = tuple(f"{n:x}" for n in range(CLIENTS_AT_MOST + 1))
    one.say(Round, one.now, brokers=(BrokerAnswer("a", True, ids),))
    seen = picture(one)
    assert seen.status == "unknown"
    assert seen.reason == f"{NO_ROUND}; the lists of its members: {len(ids)} clients of one group; " + (
        f"the limit is {CLIENTS_AT_MOST}"
    )


def test_without_a_round_nothing_is_known() -> None:
    seen = picture(fleet())
    assert (seen.status, seen.reason) == ("unknown", NO_ROUND)


@pytest.mark.parametrize(
    ("change", "status", "asked"),
    [
        (lambda f: f.own("y", "a3 b0-3"), "settling", {("DUPLICATED", (("a", 3),))}),
        (lambda f: f.own("y", "b0-2"), "settling", {("ORPHANED", (("b", 3),))}),
        (lambda f: (f.own("x", "a0-2 b3"), f.own("y", "b0-2 a3")), "settling", {("MISPLACED", (("a", 3), ("b", 3)))}),
        (lambda f: f.own("y", "b0-4"), "settling", {("PHANTOM", (("b", 4),))}),
        (lambda f: f.stick("a0"), "settling", {("STALLED", (("a", 0),))}),
    ],
)
def test_what_is_too_young_is_said_to_be_no_more_than_that(
    change: Callable[[Fleet], Any], status: str, asked: set[Any]
) -> None:
    seen = picture(odd(change))
    assert (seen.status, seen.findings) == (status, ())
    assert questions(seen) == asked
    assert all(one.judged_in_s for one in seen.undecided)


def test_watched_for_long_enough_it_is_a_finding() -> None:
    one = odd(lambda f: f.own("y", "a3 b0-3"))
    one.report_every = 20
    seen = picture(one.run(70))
    assert seen.status == "findings"
    ((kind, severity, queues),) = [(f.kind, f.severity, f.queues) for f in seen.findings]
    assert (kind, severity, queues) == ("DUPLICATED", "critical", (("a", 3),))


def test_finding_that_was_said_once_waits_to_be_said_again() -> None:
    one = odd(lambda f: f.own("y", "a3 b0-3"))
    one.run(24)
    for client_id in ("x", "y"):
        one.report(client_id)
    seen = picture(one.round())
    assert (seen.status, seen.findings, questions(seen)) == ("settling", (), {("DUPLICATED", (("a", 3),))})
    one.run(6)
    for client_id in ("x", "y"):
        one.report(client_id)
    assert [f.kind for f in picture(one.round()).findings] == ["DUPLICATED"]


def test_retry_queue_in_which_nothing_waits_is_worth_no_alarm() -> None:
    one = fleet({"T": {"a": 2}, "%RETRY%g": {"a": 1}}, rate=0)
    one.join("x", "y")
    one.own("x", "", "%RETRY%g")
    one.report_every = 20
    seen = picture(looked_at(one, 70))
    assert [(f.kind, f.topic, f.severity) for f in seen.findings] == [("ORPHANED", "%RETRY%g", "info")]
    assert seen.status == "healthy"


def test_stall_is_judged_after_its_minute() -> None:
    one = odd(lambda f: f.stick("a0"))
    (waiting,) = picture(one).undecided
    assert "STALLED: judged after 60 s" in waiting.evidence
    assert waiting.judged_in_s == 54
    assert [f.kind for f in picture(one.run(60)).findings] == ["STALLED"]


def test_queue_that_was_seen_to_move_is_no_question() -> None:
    one = odd(lambda f: f.stick("a0"))
    one.stick("")
    assert picture(one.round()).undecided == ()


def test_offsets_that_nobody_told_leave_stalls_open() -> None:
    one = two()
    one.progress_every = 0
    seen = picture(looked_at(one))
    assert seen.status == "settling"
    assert [(q.kind, q.judged_in_s) for q in seen.undecided] == [("STALLED", None)]
    assert {(q.in_per_s, q.lag) for q in seen.queues} == {(None, None)}


def test_different_subscriptions_are_told_at_once() -> None:
    seen = picture(odd(lambda f: f.join("z", report={"subscriptions": (Subscription("T", "TagA"),)})))
    assert [(f.kind, f.cause) for f in seen.findings] == [("INCONSISTENT_SUBSCRIPTION", "SUBSCRIPTION_MISMATCH")]
    assert seen.status == "findings"


def test_mixed_strategies_are_named_at_once() -> None:
    seen = picture(odd(lambda f: f.join("z", strategy=AveragelyByCircle())))
    assert seen.status == "settling"
    assert {one.cause for one in seen.undecided} == {"STRATEGY_MISMATCH"}
    assert any("different strategies" in note for note in seen.notes)


def test_id_that_is_listed_twice_is_told_at_once_and_proves_nothing() -> None:
    seen = picture(odd(lambda f: f.join("x")))
    assert seen.status == "unknown"
    assert "STALE_CONNECTION" in {one.cause for one in seen.undecided}
    assert next(m for m in seen.members if m.client_id == "x").instances == 2


def test_silent_broker_and_silent_client_are_named() -> None:
    def change(one: Fleet) -> None:
        one.down.add("b")
        one.pause("y")

    seen = picture(odd(change))
    assert seen.status == "unknown"
    said = [one.evidence for one in seen.undecided]
    assert "no list of members from b: no answer" in said
    assert "no report from y: timeout" in said
    assert [(b.broker_name, b.answered) for b in seen.brokers] == [("a", True), ("b", False)]


def test_client_that_was_not_asked_says_why() -> None:
    one = two()
    one.round()
    one.report("x")
    one.round(asked=("x",), **not_asked("y", "asked for another group a moment ago"))
    watch = watch_of(one)
    assert watch.awaits_reports
    seen = group_evaluation.snapshot_of(watch)
    assert {m.client_id: m.why_not for m in seen.members} == {"x": None, "y": "asked for another group a moment ago"}
    one.round(asked=("y",))
    assert watch_of(one).why_silent("y") == "asked, no answer yet"


def times_ten(event: AnyEvent) -> AnyEvent:
    """Ten times as many messages arrive in queue 0 of broker a."""
    if not isinstance(event, ConsumeProgress) or event.broker_name != "a":
        return event
    first, *others = event.queues
    return replace(event, queues=(replace(first, broker_offset=first.broker_offset * 10), *others))


def test_hot_queue_and_hot_client_stand_out_of_an_even_share() -> None:
    one = looked_at(two())
    one.events = list(map(times_ten, one.events))
    seen = picture(one)
    assert [(q.broker_name, q.queue_id) for q in seen.queues if q.hot] == [("a", 0)]
    assert [m.client_id for m in seen.members if m.hot] == ["x"]
    assert "x gets 76 % of the messages with 50 % of the queues" in seen.notes
    assert "T: 1 hot queue, 59 % of its messages: a 0" in seen.notes


def test_queues_that_go_one_way_are_shown() -> None:
    one = fleet()
    one.route("T", a=(4, 2, 6), b=(2, 4, 6))
    one.join("x", "y")
    seen = picture(looked_at(one))
    ways = {(q.broker_name, q.queue_id): (q.readable, q.writable) for q in seen.queues}
    assert (ways["a", 3], ways["b", 3], ways["b", 1]) == ((True, False), (False, True), (True, True))
    assert "T: a 2-3 can be read, not written: nothing new arrives" in seen.notes
    assert [(f.kind, f.cause, f.queues) for f in seen.findings] == [
        ("UNREADABLE_QUEUES", "READ_LT_WRITE", (("b", 2), ("b", 3)))
    ]


def test_group_that_is_not_ours_to_judge_says_why() -> None:
    one = fleet()
    one.join("x", "y", report={"client_rebalance": False})
    seen = picture(looked_at(one))
    assert (seen.status, seen.reason, seen.undecided) == ("excluded", "BROKER_ALLOCATED", ())
    (note,) = seen.notes
    assert "clientRebalance=false" in note
    assert "clientRebalance=false" in page(seen)


def test_member_that_is_not_ours_to_judge_is_named() -> None:
    report = {"owned": (), "subscriptions": (), "consume_type": "CONSUME_ACTIVELY"}
    seen = picture(odd(lambda f: f.join("tool", report=report)))
    assert seen.status == "unknown"
    assert "tool: EXCLUDED, LITE_ASSIGN: a pull consumer takes the queues that its code assigns" in seen.notes


def test_topic_that_is_not_ours_to_judge_says_why() -> None:
    one = fleet({"T": {"a": 4, "b": 4}, "S": {"__syslo__S": 2}})
    one.join("x", "y")
    seen = picture(looked_at(one))
    assert {(q.finding, q.reason) for q in seen.queues or () if q.topic == "S"} == {("EXCLUDED", "STATIC_TOPIC")}
    assert any(note.startswith("S: EXCLUDED, STATIC_TOPIC") for note in seen.notes)
    assert seen.status == "healthy"


def test_group_of_which_no_topic_is_ours_to_judge_is_not_healthy() -> None:
    one = fleet({"S": {"__syslo__S": 2}, "%RETRY%g": {"__syslo__S": 1}})
    one.join("x")
    seen = picture(looked_at(one))
    assert (seen.status, seen.reason) == ("excluded", "STATIC_TOPIC")


def test_owner_is_not_known_before_every_member_has_spoken() -> None:
    """Queues that nobody has reported are not nobody's."""
    one = two()
    one.run(4)
    assert {queue.owners for queue in picture(one).queues or ()} == {None}
    assert "nobody" not in page(picture(one), verbose=True)
    one.report("x")
    one.round()
    half = picture(one)
    assert {queue.owners for queue in half.queues or ()} == {("x",), None}
    one.own("y", "b0-2")
    one.report("y")
    one.round()
    assert {queue.owners for queue in picture(one).queues or ()} == {("x",), ("y",), ()}
    assert "nobody" in page(picture(one))


def test_nobody_is_no_owner_once_a_change_has_come_since_the_reports() -> None:
    one = looked_at(odd(lambda f: f.own("y", "b0-2")))
    one.join("z")
    assert {queue.owners for queue in picture(one.round()).queues or ()} == {("x",), ("y",), None}


def test_offsets_of_a_silent_broker_say_nothing_of_now() -> None:
    one = looked_at(two())
    one.down.add("b")
    seen = picture(one.round())
    assert {(q.broker_name, q.lag is None, q.in_per_s is None) for q in seen.queues or ()} == {
        ("a", False, False),
        ("b", True, True),
    }
    assert {m.client_id: m.lag for m in seen.members or ()} == {"x": 0, "y": None}
    assert "lag 0 in 4 of 8" in page(seen)
    assert "2 members known" in page(seen)


def test_offsets_that_are_old_say_nothing_of_now() -> None:
    one = looked_at(two())
    one.progress_every = 0
    assert {q.lag for q in picture(one.run(40)).queues or ()} == {None}


def test_what_nobody_said_is_null() -> None:
    one = two()
    seen = picture(one.round())
    assert (seen.orderly, seen.strategies) == (None, None)
    one.down.update("ab")
    unheard = fleet()
    unheard.down.update("ab")
    silent = picture(unheard.run(4))
    assert (silent.status, silent.members) == ("unknown", None)
    assert "members not known" in page(silent)


def test_broker_that_was_lost_before_the_look_is_named_by_who_owns_its_queues() -> None:
    one = two()
    one.own("y", "b0-3")
    one.own("x", "a0-3")
    one.route("T", a=4)
    seen = picture(looked_at(one))
    assert seen.status == "unknown"
    assert any("nothing was asked of b" in each.evidence for each in seen.undecided)


def test_messages_of_a_group_without_members_are_counted_or_not_known() -> None:
    one = fleet(rate=4).run(10)
    seen = picture(one)
    assert seen.status == "empty"
    (question,) = seen.undecided
    assert question.kind == "NO_MEMBERS"
    assert "messages wait in 8 queues" in question.evidence
    rules = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(always_on=True),))
    (finding,) = picture(one, rules).findings
    assert finding.evidence == f"no broker lists a member; {sum(q.lag or 0 for q in seen.queues or ())} messages wait"
    silent = fleet()
    silent.progress_every = 0
    silent.run(10)
    assert "how many messages wait is not known" in picture(silent).undecided[0].evidence
    (finding,) = picture(silent, rules).findings
    assert finding.evidence == "no broker lists a member; how many messages wait is not known"


def test_group_that_was_asked_for_is_expected_to_have_members() -> None:
    one = fleet().run(40)
    rules = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(always_on=True),))
    assert picture(one).status == "empty"
    seen = picture(one, rules)
    assert (seen.status, [f.kind for f in seen.findings]) == ("findings", ["NO_MEMBERS"])


def test_a_look_does_not_miss_a_group_whose_last_client_has_just_left() -> None:
    """It may be a restart of all: an alert waits for two minutes."""
    one = looked_at(two())
    one.leave(*(instance.client_id for instance in one.instances))
    seen = picture(one.run(4))
    assert (seen.status, [f.kind for f in seen.findings]) == ("empty", [])
    (question,) = [q for q in seen.undecided if q.kind == "NO_MEMBERS"]
    assert question.judged_in_s is not None
    assert 110 <= question.judged_in_s <= 120
    assert [f.kind for f in picture(one.run(130)).findings] == ["NO_MEMBERS"]


def test_a_look_of_eight_seconds_does_not_call_a_hang_healthy() -> None:
    """Begun a minute after it: messages are pulled and arrive, and those of the client that hangs are not consumed."""
    one = two()
    one.run(60)
    one.hang("a0 a1")
    one.run(60)
    seen = picture(looked_at(_unseen(one), 8))
    assert seen.status != "healthy"
    assert ("SLOW_CONSUMER", (("a", 0), ("a", 1))) in questions(seen)


def _unseen(one: Fleet) -> Fleet:
    """What came before the look is not known to it."""
    one.events.clear()
    one.route(a=4, b=4)
    return one


def test_a_look_does_not_call_healthy_what_falls_behind() -> None:
    """Each round a little is consumed of every queue, and eight messages arrive."""
    one = two()
    one.run(60)
    one.stick()
    one.run(20)
    looked_at(_unseen(one), 0)
    for _ in range(4):
        for offsets in one.offsets.values():
            offsets.consumer, offsets.pulled = offsets.consumer + 1, offsets.pulled + 1
        one.round()
    seen = picture(one)
    assert seen.status == "settling"
    (question,) = [q for q in seen.undecided if q.kind == "SLOW_CONSUMER"]
    assert "32.0/s arrive and 4.0/s are consumed" in question.evidence


def test_broadcasting_group_owes_no_offsets() -> None:
    one = fleet()
    one.progress_every = 0
    one.join("x", "y", report={"message_model": "BROADCASTING"})
    assert picture(looked_at(one)).status == "healthy"


def test_fault_of_ours_hides_no_other_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(group_evaluation, "judge_topics", fails)
    seen = picture(looked_at(two()))
    assert (seen.status, seen.reason) == (
        "unknown",
        "evaluation failed: RuntimeError: boom",
    )


def test_marker_that_waits_to_be_confirmed_is_not_shown_yet() -> None:
    """A round that seems to be far ahead counts once the next one says so too: until then, the lists before it do."""
    one = looked_at(two())
    one.down.add("b")
    before = picture(one).ts
    one.now += 3600
    one.round()
    seen = picture(one)
    assert (seen.ts, [broker.answered for broker in seen.brokers]) == (before, [True, True])
    later = picture(one.round())
    assert (later.ts, [broker.answered for broker in later.brokers]) == (one._ts(), [True, False])


@pytest.mark.slow("a recorded cluster is looked at")
def test_a_listener_that_hangs_stands_out_though_pulls_go_on() -> None:
    one = looked_at(two())
    one.hang("a0-1")
    seen = picture(one.run(16))
    assert seen.status == "settling"
    assert questions(seen) == {("SLOW_CONSUMER", (("a", 0), ("a", 1)))}
    assert "none seen to be consumed for 1" in seen.undecided[0].evidence
    assert "SLOW_CONSUMER?" in page(seen)
    hung = {q.queue_id: q for q in seen.queues if q.broker_name == "a" and q.stands_s is not None}
    assert {n: q.out_per_s for n, q in hung.items()} == {n: pytest.approx(1, abs=1) for n in (0, 1)}
    assert [f.kind for f in picture(one.run(320)).findings] == ["SLOW_CONSUMER"]
